"""The profile as a value. Pure: no file, no process, no clock; imports nothing else of cyprof."""

from .calltree import NO_PARENT, CallTree
from .cost import NodeTimes, ProbeCost
from .flat import FlatProfile, LineTimings
from .function import CYTHON_KINDS, KINDS, Function, Kind
from .lines import LineRecords, LineTimes
from .profile import Edge, FunctionTimes, Process, Profile, Run, Stated, Thread, Unseen

__all__ = [
    "CYTHON_KINDS",
    "KINDS",
    "NO_PARENT",
    "CallTree",
    "Edge",
    "FlatProfile",
    "Function",
    "FunctionTimes",
    "Kind",
    "LineRecords",
    "LineTimes",
    "LineTimings",
    "NodeTimes",
    "ProbeCost",
    "Process",
    "Profile",
    "Run",
    "Stated",
    "Thread",
    "Unseen",
]
