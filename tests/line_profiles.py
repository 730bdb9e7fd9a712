"""Profiles with lines made by hand, and their sources."""

from __future__ import annotations

from dataclasses import replace

from profiles import PROJECT, ProfileBuilder

from cyprof.model import Profile
from cyprof.view.line_rows import SourceProvider, SourceText

KERN = '''\
# cython: language_level=3
from libc.math cimport exp


cdef double _inner(double[:] x, int rounds) noexcept nogil:
    """Sums up."""
    cdef double s = 0
    cdef int i
    for i in range(rounds):
        s += x[i] * exp(-i % 7.0)

    # never reached
    if s < 0:
        return -1
    return s


cpdef double mid(double[:] x, int rounds):
    return _inner(x, rounds)


def collect(items, list out, scale=1.0):
    for item in items:
        out.append(
            item * scale
        )
    return out


cdef number twice(number v):
    return v + v


def make(factor):
    def inner(y):
        z = y * factor
        z = z + 1
        z = z - 1
        return z
    return inner


def never(x):
    return x
'''
SCRIPT = """\
import kern


def main(rounds):
    data = kern.load()
    kern.collect(data, [])
    for _ in range(rounds):
        kern.mid(data, 1000)
    return data


main(300)
"""
SOURCES = {f"{PROJECT}/kern.pyx": KERN.split("\n"), f"{PROJECT}/demo.py": SCRIPT.split("\n")}
SCORES = {
    1: 8, 10: 2, 18: 21, 19: 4, 22: 43, 23: 14, 24: 13, 25: 12, 27: 2, 34: 60, 35: 30, 36: 11, 37: 12, 38: 12, 39: 2,
}  # fmt: skip


def source_of(files: dict[str, list[str]], changed: frozenset[str] = frozenset()) -> SourceProvider:
    """A provider that knows some files."""
    return lambda file: SourceText(tuple(files[file]) if file in files else None, file in changed)


def kern() -> Profile:
    """A script and a Cython module: a hot nogil loop, a line through Python, fused specialisations, a closure."""
    b = ProfileBuilder(with_lines=True, target=f"{PROJECT}/demo.py")
    script = b.function("__main__", "<module>", "demo.py", 1, "module")
    main = b.function("__main__", "main", "demo.py", 4)
    module = b.function("kern", "<module>", "kern.pyx", 1, "module")
    inner = b.function("kern", "_inner", "kern.pyx", 5, "cdef", nogil=True)
    mid = b.function("kern", "mid", "kern.pyx", 18, "cpdef")
    collect = b.function("kern", "collect", "kern.pyx", 22, "def")
    twice = [b.function("kern", f"twice[{kind}]", "kern.pyx", 30, "cdef") for kind in ("int", "double")]
    closure = b.function("kern", "make.<locals>.inner", "kern.pyx", 35, "def")
    make = b.function("kern", "make", "kern.pyx", 34, "def")
    b.function("kern", "never", "kern.pyx", 43, "def")

    def call(parent: int, function: int, calls: int, line: int, *lines: tuple[int, int, float]) -> int:
        node = b.call(parent, function, calls, sum(ms for _, _, ms in lines), call_line=line)
        for number, hits, ms in lines:
            b.line(node, b.functions[function].file, number, hits, ms)
        return node

    root = call(-1, script, 1, 0, (1, 1, 0.8), (4, 1, 0.01), (12, 1, 0.02))
    call(root, module, 1, 1, (1, 1, 0.02), (2, 1, 0.01), (18, 1, 0.03), (22, 1, 0.02), (34, 1, 0.01), (43, 1, 0.01))
    top = call(root, main, 1, 12, (4, 0, 0.01), (5, 1, 0.02), (6, 1, 0.03), (7, 301, 0.09), (8, 300, 0.4), (9, 1, 0.001))
    middle = call(top, mid, 300, 8, (18, 0, 1.2), (19, 300, 0.6))
    call(middle, inner, 300, 19, (5, 0, 0.1), (7, 300, 0.02), (9, 300_300, 31), (10, 300_000, 640), (13, 300, 0.1),
         (15, 300, 0.05))  # fmt: skip
    call(top, collect, 1, 6, (22, 0, 0.2), (23, 50_001, 12), (24, 50_000, 18), (25, 50_000, 150), (27, 1, 0.001))
    call(top, twice[0], 40, 6, (30, 0, 0.2), (31, 40, 5))
    call(top, twice[1], 60, 6, (30, 0, 0.2), (31, 60, 6))
    call(top, make, 1, 5, (34, 0, 0.01), (35, 1, 0.02), (39, 1, 0.001))
    call(top, closure, 90, 5, (35, 0, 0.5), (36, 90, 3), (37, 90, 2), (38, 90, 2), (39, 90, 0.1))
    b.scores = {f"{PROJECT}/kern.pyx": SCORES}
    b.notes.append("The times of 3 calls of 2 ns cannot be told from their callers'.")
    return replace(b.profile(), baseline_ns_per_call={inner: 700_000.0, mid: 6000.0})


def large(count: int, lines_each: int) -> tuple[Profile, SourceProvider]:
    """A generated module of `count` functions with so many lines each, all reached, and a body that defines them."""
    b = ProfileBuilder(with_lines=True, target=f"{PROJECT}/large.py")
    path = f"{PROJECT}/large.pyx"
    text: list[str] = []
    body = b.function("large", "<module>", "large.pyx", 1, "module")
    root = b.call(-1, body, 1, 1)
    for number in range(count):
        first = len(text) + 1
        text += [f"cdef double work_{number}(double x, list items):"]
        text += [f"    x += {line} * x + items[{line}]  # a line like any other" for line in range(lines_each - 1)]
        text += [""]
        function = b.function("large", f"work_{number}", "large.pyx", first, "cdef")
        node = b.call(root, function, 7, 1 + 5000 / (number + 1), call_line=first)
        b.line(root, path, first, 1, 0.001)
        for line in range(lines_each):
            b.line(node, path, first + line, 7, (1 + 5000 / (number + 1)) / lines_each)
    b.scores = {path: {line: line % 30 for line in range(1, len(text)) if line % 30}}
    return b.profile(), source_of({path: text})


HOSTILE = [
    "def evil(x):",
    "    a = '</script><script>document.title = \"broken in\"</script>'",
    "    b = \"<img src=x onerror='document.title=1'>\"  # <!-- <script>",
    "\tc = 'Größe \u65e5\u672c \x1b[31m \x00 \u2028 &amp; &lt;'",
    "    d = `{{DATA}}` + ''']]> {{TITLE}}",
    "'''",
    "    return a",
]


def hostile() -> tuple[Profile, SourceProvider]:
    """Names and sources that break a careless page."""
    b = ProfileBuilder(with_lines=True, target=f"{PROJECT}/</title><script>alert(1)</script>.py")
    name = "evil</script><script>document.title='x'</script>\" onclick='alert(1)'"
    evil = b.function("kern", name, "odd</b> \"&'.pyx", 1, "def")
    node = b.call(-1, evil, 3, 10)
    for line in range(1, len(HOSTILE) + 1):
        b.line(node, f"{PROJECT}/odd</b> \"&'.pyx", line, 3, 1)
    b.notes.append("a <note> & {{VIEW}}")
    return b.profile(), source_of({f"{PROJECT}/odd</b> \"&'.pyx": HOSTILE})
