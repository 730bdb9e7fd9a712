"""Two or more groups of runs compared: pairs of functions, what changed, and what is noise. Pure."""

from .lines import LineChange, line_changes
from .sides import Side
from .table import Comparison, Ratio, Row, Times, compare

__all__ = ["Comparison", "LineChange", "Ratio", "Row", "Side", "Times", "compare", "line_changes"]
