"""From what is shown to bytes. One small module for each format; each registers itself."""

from .bench_text import bench_text
from .diff_text import diff_text
from .engines_text import engines_text
from .line_profiler_text import line_profiler_text
from .line_text import line_table_text
from .members_text import members_text
from .registry import (
    DrawingError,
    Renderer,
    check_output,
    find,
    find_format,
    formats,
    renderer,
    renderers,
    suffixes,
    write,
)
from .text import stats_text

__all__ = [
    "DrawingError",
    "Renderer",
    "bench_text",
    "check_output",
    "diff_text",
    "engines_text",
    "find",
    "find_format",
    "formats",
    "line_profiler_text",
    "line_table_text",
    "members_text",
    "renderer",
    "renderers",
    "stats_text",
    "suffixes",
    "write",
]
