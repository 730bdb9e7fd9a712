"""Runs a target and gives a Profile. A collector is one function that registers itself."""

from .registry import Collector, Progress, Recording, RecordOptions, collector, record

__all__ = ["Collector", "Progress", "RecordOptions", "Recording", "collector", "record"]
