"""A comparison of variants in the terminal, as plain text, and for other programs (schema `cyprof-bench/1`)."""

from __future__ import annotations

import json
from dataclasses import asdict

from ..bench import words as say
from ..bench.result import Bench
from ..view import ViewOptions
from ..view.units import time_text
from .registry import renderer
from .styled import Line, joined, wrapped

SCHEMA = "cyprof-bench/1"


@renderer(".txt", description="the table as plain text", groups=("bench",))
def text_bytes(bench: Bench, options: ViewOptions) -> bytes:
    """The table and the evidence as plain text."""
    del options
    return bench_text(bench).encode()


@renderer(".json", description="everything, for other programs (schema cyprof-bench/1)", groups=("bench",))
def json_bytes(bench: Bench, options: ViewOptions) -> bytes:
    """All figures, times in seconds."""
    del options
    data = {"schema": SCHEMA, **asdict(bench)}
    for variant, record in zip(bench.variants, data["variants"], strict=True):
        # JSON has no infinity: an interval without an end has none.
        record |= {"high": None if variant.high == float("inf") else variant.high, "conclusion": say.conclusion(variant, bench)}
    return (json.dumps(data, indent=1) + "\n").encode()


def bench_text(bench: Bench, width: int = 0, color: bool = False) -> str:
    """The table, the evidence behind it and a conclusion for each variant, as text that ends in a line break."""
    lines: list[Line] = [[("", f"{bench.file}: {bench.machine}")], []]
    timed = [variant for variant in bench.variants if variant.times]
    fastest = min(timed, key=lambda variant: variant.seconds, default=None)
    size = max([len("variant"), *(len(variant.title) for variant in bench.variants)])
    ratios = [say.ratio_text(variant) if variant.times else "-" for variant in bench.variants]
    ratio_size = max(map(len, ratios), default=0)
    lines.append([("bold", f"{'variant'.ljust(size)}  {'time':>9}  {'ratio'.rjust(ratio_size)}")])
    for variant, ratio in zip(bench.variants, ratios, strict=True):
        took = time_text(variant.seconds * 1e9) if variant.times else "raised"
        style = "bold green" if variant is fastest else "bold red" if variant.error else ""
        lines.append([(style, f"{variant.title.ljust(size)}  {took:>9}  {ratio.rjust(ratio_size)}")])
    lines.append([])
    for variant in bench.variants:
        lines.append([("bold", variant.title)])
        texts = [say.conclusion(variant, bench)]
        if variant.disagrees:
            texts.append(f"It does not compute the same: {variant.disagrees}.")
        if variant.times:
            texts.append(f"Evidence: {say.evidence_text(variant, bench)}")
        for text in texts:
            lines += wrapped([("", f"  {text}")], width or 110, 2)
    lines.append([])
    missing = dict.fromkeys(f"Not gathered: {reason}." for variant in bench.variants for reason in variant.evidence.missing)
    for text in (*missing, *bench.notes, say.end_text(bench)):
        lines += wrapped([("", text)], width or 110, 2)
    return joined(lines, color)
