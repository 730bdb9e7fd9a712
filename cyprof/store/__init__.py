"""Profiles in files: versioned, compact, written whole or not at all, and safe to read from anywhere."""

from .file import SUFFIX, from_bytes, is_profile, load, save, to_bytes

__all__ = ["SUFFIX", "from_bytes", "is_profile", "load", "save", "to_bytes"]
