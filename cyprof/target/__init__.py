"""What is run: a script, a module, code, or a profile that was saved; and the process it runs in."""

from .interpreter import program_path
from .process import die_by, held_back, leave_group, run_process
from .rank import Rank, host, own_rank, path_of, pattern_of
from .resolve import resolve
from .sides import recordings, side_targets
from .target import Target

__all__ = [
    "Rank",
    "Target",
    "die_by",
    "held_back",
    "host",
    "leave_group",
    "own_rank",
    "path_of",
    "pattern_of",
    "program_path",
    "recordings",
    "resolve",
    "run_process",
    "side_targets",
]
