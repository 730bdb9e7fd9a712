"""The command line: one module for each sub-command, which reads options, calls, and prints. No logic of its own."""

from .main import main

__all__ = ["main"]
