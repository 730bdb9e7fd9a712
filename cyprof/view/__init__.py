"""From a profile to what is shown. Pure functions: no file, no process, no clock."""

from .engines import EngineTable, engine_table
from .graph import call_graph
from .labels import SourceLine, source_lines
from .line_rows import SourceProvider, SourceText
from .line_table import LineTable, line_table
from .members import MemberRow, Spread, SpreadRow, SpreadTable, spread_table
from .nodes import Cluster, Edge, Graph, Node
from .options import ViewOptions
from .plain import PlainEdge, PlainGraph, PlainNode, plain_graph
from .table import FunctionTable, Row, function_table

__all__ = [
    "Cluster",
    "Edge",
    "EngineTable",
    "FunctionTable",
    "Graph",
    "LineTable",
    "MemberRow",
    "Node",
    "PlainEdge",
    "PlainGraph",
    "PlainNode",
    "Row",
    "SourceLine",
    "SourceProvider",
    "SourceText",
    "Spread",
    "SpreadRow",
    "SpreadTable",
    "ViewOptions",
    "call_graph",
    "engine_table",
    "function_table",
    "line_table",
    "plain_graph",
    "source_lines",
    "spread_table",
]
