"""The profile as a value. Pure: no file, no process, no clock; imports nothing else of cyprof."""

from .calltree import NO_PARENT, CallTree
from .cost import NodeTimes, ProbeCost
from .function import CYTHON_KINDS, KINDS, Function, Kind
from .lines import LineRecords, LineTimes
from .members import MergeError, function_key, member_called, member_noun, merge, part_of
from .profile import Edge, FunctionTimes, Member, Process, Profile, Run, Thread, Unseen
from .stated import Calls, Engine, Entry, Key, LineTimings, Stated, from_stats
from .teams import Team, teams

__all__ = [
    "CYTHON_KINDS",
    "KINDS",
    "NO_PARENT",
    "CallTree",
    "Calls",
    "Edge",
    "Engine",
    "Entry",
    "Function",
    "FunctionTimes",
    "Key",
    "Kind",
    "LineRecords",
    "LineTimes",
    "LineTimings",
    "Member",
    "MergeError",
    "NodeTimes",
    "ProbeCost",
    "Process",
    "Profile",
    "Run",
    "Stated",
    "Team",
    "Thread",
    "Unseen",
    "from_stats",
    "function_key",
    "member_called",
    "member_noun",
    "merge",
    "part_of",
    "teams",
]
