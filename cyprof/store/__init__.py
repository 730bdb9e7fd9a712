"""Profiles in files: versioned, compact, written whole or not at all, and safe to read from anywhere."""

from .file import SUFFIX, is_profile, load, save

__all__ = ["SUFFIX", "is_profile", "load", "save"]
