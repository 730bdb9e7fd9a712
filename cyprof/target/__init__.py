"""What is run: a script, a module, code, or a profile that was saved; and the process it runs in."""

from .interpreter import program_path
from .process import die_by, held_back, run_process
from .resolve import resolve
from .sides import side_targets
from .target import Target

__all__ = ["Target", "die_by", "held_back", "program_path", "resolve", "run_process", "side_targets"]
