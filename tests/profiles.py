"""Profiles made by hand, for tests of everything that reads one."""

from __future__ import annotations

from typing import Any

from cyprof.model import CallTree, Function, Kind, LineRecords, NodeTimes, ProbeCost, Profile, Run, Thread, Unseen

MS = 1_000_000
PROJECT = "/home/user/project"
STDLIB = "/usr/local/lib/python3.13"
SITE = f"{STDLIB}/site-packages"


class ProfileBuilder:
    """Builds a profile call by call.

    `function` names a function once; `call` adds a node to the tree under a node (or at the root) and returns it.
    """

    def __init__(self, **run: Any) -> None:
        defaults: dict[str, Any] = {
            "target": f"{PROJECT}/demo.py",
            "argv": ("demo.py",),
            "python": "3.13.0",
            "cython": "3.3.1",
            "clock": "auto",
            "started": "2026-11-30T12:00:00",
        }
        self.run = defaults | run
        self.functions: list[Function] = []
        self.tree = CallTree()
        self.lines = LineRecords()
        self.files: list[str] = []
        self.threads = [Thread(0, "MainThread", 0, 0)]
        self.unseen: list[Unseen] = []
        self.notes: list[str] = []
        self.scores: dict[str, dict[int, int]] = {}

    def function(
        self, module: str, name: str, file: str = "", line: int = 0, kind: Kind = "python", *, nogil: bool = False
    ) -> int:
        """A function; its language follows from its kind and file, a relative file lies in the project."""
        if file and not file.startswith(("/", "<")):
            file = f"{PROJECT}/{file}"
        language: Any = "python"
        if kind == "builtin":
            language = "c"
        elif kind in ("def", "cpdef", "cdef") or file.endswith(".pyx"):
            language = "cython"
        index = len(self.functions)
        self.functions.append(Function(index, module, name, file, line, kind, nogil, language))
        return index

    def builtin(self, module: str, name: str) -> int:
        """A C function."""
        return self.function(module, name, kind="builtin")

    def call(self, parent: int, function: int, calls: int = 1, ms: float = 0, **more: int) -> int:
        """A node: so many calls from a node (-1: from nowhere), with so many ms of self time."""
        return self.tree.add(parent, function, calls=calls, self_ns=round(ms * MS), **more)

    def line(self, node: int, file: str, line: int, hits: int, ms: float) -> None:
        """A line record."""
        path = file if file.startswith("/") else f"{PROJECT}/{file}"
        if path not in self.files:
            self.files.append(path)
        self.lines.add(node, self.files.index(path), line, hits, round(ms * MS))

    def profile(self) -> Profile:
        """The finished profile; run time and events follow from the tree when they were not given."""
        spent = sum(self.tree.self_ns)
        run = {"wall_ns": spent, "cpu_ns": spent, "events": 2 * sum(self.tree.calls)} | self.run
        return Profile(
            Run(**run), self.functions, self.tree, self.lines, self.files, self.threads, self.unseen,
            notes=self.notes, scores=self.scores,
        )  # fmt: skip


def demo() -> Profile:
    """Python and Cython in two modules, recursion, an import, a hot cdef nogil function with line times."""
    b = ProfileBuilder(with_lines=True)
    body = b.function("__main__", "<module>", "demo.py", 1, "module")
    main = b.function("__main__", "main", "demo.py", 20)
    train = b.function("__main__", "Model.train", "demo.py", 16)
    step = b.function("__main__", "Model.step", "demo.py", 14)
    fib = b.function("__main__", "fib", "demo.py", 8)
    add = b.function("kern", "Acc.add", "kern.pyx", 27, "def")
    outer = b.function("kern", "outer", "kern.pyx", 16, "def")
    mid = b.function("kern", "mid", "kern.pyx", 9, "cpdef")
    inner = b.function("kern", "_inner", "kern.pyx", 2, "cdef", nogil=True)
    kern_body = b.function("kern", "<module>", "kern.pyx", 1, "module")
    load = b.function("importlib._bootstrap", "_find_and_load", "<frozen importlib._bootstrap>", 1350)
    find = b.function("importlib._bootstrap", "_find_spec", "<frozen importlib._bootstrap>", 1240)
    stat = b.builtin("posix", "stat")
    sleep = b.builtin("builtins", "len")
    enum = b.function("enum", "Enum.__call__", f"{STDLIB}/enum.py", 700)

    root = b.call(-1, body, 1, 0.1)
    importing = b.call(root, load, 1, 2.5)
    finding = b.call(importing, find, 1, 1.2)
    b.call(finding, stat, 31, 0.9)
    b.call(importing, kern_body, 1, 0.2)
    top = b.call(root, main, 1, 0.4)
    b.call(top, enum, 12, 0.3)
    training = b.call(top, train, 1, 0.9)
    stepping = b.call(training, step, 300, 1.1)
    adding = b.call(stepping, add, 300, 1.3)
    b.call(adding, sleep, 300, 0.02)
    middle = b.call(adding, mid, 300, 14)
    hot = b.call(middle, inner, 6000, 750)
    outside = b.call(top, outer, 1, 0.1)
    middle2 = b.call(outside, mid, 30, 5)
    hot2 = b.call(middle2, inner, 600, 232)
    first = b.call(top, fib, 1, 0.01)
    b.call(first, fib, 21890, 30)
    for node, share in ((hot, 750), (hot2, 232)):
        b.line(node, "kern.pyx", 4, 6000, share * 0.02)
        b.line(node, "kern.pyx", 5, 120_000, share * 0.10)
        b.line(node, "kern.pyx", 6, 120_000, share * 0.88)
    return b.profile()


DEMO_LINES = {(f"{PROJECT}/kern.pyx", 6): "        s += x * i % 7.0"}


def mnist() -> Profile:
    """A training program: a script, Python modules of a package, two Cython modules, numpy's C functions."""
    b = ProfileBuilder(target=f"{PROJECT}/examples/train_mnist.py")
    body = b.function("__main__", "<module>", "examples/train_mnist.py", 1, "module")
    train = b.function("__main__", "train", "examples/train_mnist.py", 41)
    load = b.function("__main__", "load_data", "examples/train_mnist.py", 18)
    variable = "mnist_trainer.variable"
    link = "mnist_trainer.link"
    backward = b.function(variable, "Variable.backward", "mnist_trainer/variable.py", 58)
    zerograd = b.function(variable, "Variable.zerograd", "mnist_trainer/variable.py", 44)
    creator = b.function(variable, "Variable.set_creator", "mnist_trainer/variable.py", 31)
    call = b.function(link, "Classifier.__call__", "mnist_trainer/link.py", 97)
    mlp = b.function(link, "MnistMLP.__call__", "mnist_trainer/link.py", 80)
    linear = b.function(link, "Linear.forward", "mnist_trainer/link.py", 55)
    linear_back = b.function(link, "Linear.backward", "mnist_trainer/link.py", 62)
    zerograds = b.function(link, "Chain.zerograds", "mnist_trainer/link.py", 33)
    params = b.function(link, "Chain.params", "mnist_trainer/link.py", 26)
    update = b.function("mnist_trainer.adam", "Adam.update", "mnist_trainer/adam.pyx", 30, "def")
    one = b.function("mnist_trainer.adam", "Adam.update_one", "mnist_trainer/adam.pyx", 44, "cpdef")
    moments = b.function("mnist_trainer.adam", "moments", "mnist_trainer/adam.pyx", 12, "cdef", nogil=True)
    rate = b.function("mnist_trainer.adam", "Adam.lr", "mnist_trainer/adam.pyx", 25, "def")
    relu = b.function("mnist_trainer.relu", "relu_forward", "mnist_trainer/relu.pyx", 8, "cpdef")
    relu_back = b.function("mnist_trainer.relu", "relu_backward", "mnist_trainer/relu.pyx", 20, "cpdef")
    dot = b.builtin("numpy", "ndarray.dot")
    fill = b.builtin("numpy", "ndarray.fill")
    load_txt = b.function("numpy.lib._npyio", "loadtxt", f"{SITE}/numpy/lib/_npyio.py", 1100)
    gzip = b.function("gzip", "GzipFile.read", f"{STDLIB}/gzip.py", 300)
    importing = b.function("importlib._bootstrap", "_find_and_load", "<frozen importlib._bootstrap>", 1350)
    numpy_body = b.function("numpy", "<module>", f"{SITE}/numpy/__init__.py", 1, "module")

    root = b.call(-1, body, 1, 0.3)
    b.call(b.call(root, importing, 4, 20), numpy_body, 1, 95)
    top = b.call(root, train, 1, 31)
    loading = b.call(top, load, 1, 140)
    reading = b.call(loading, load_txt, 2, 60)
    b.call(reading, gzip, 900, 90)
    updating = b.call(top, update, 1200, 12)
    clearing = b.call(updating, zerograds, 1200, 9)
    b.call(clearing, params, 1200, 4, resumes=7200)
    nested = b.call(clearing, zerograds, 1200, 11)
    zero = b.call(nested, zerograd, 21600, 15)
    b.call(zero, fill, 21600, 760)
    for caller, rounds in ((updating, 1200), (top, 200)):
        classify = b.call(caller, call, rounds, 20)
        forward = b.call(classify, mlp, rounds, 8)
        lin = b.call(forward, linear, 3 * rounds, 10)
        b.call(lin, dot, 3 * rounds, rounds * 3.1)
        b.call(lin, creator, 3 * rounds, 2)
        b.call(forward, relu, 2 * rounds, rounds * 0.22)
    back = b.call(updating, backward, 1200, 25)
    lin_back = b.call(back, linear_back, 3600, 14)
    b.call(lin_back, dot, 7200, 5600)
    b.call(back, relu_back, 2400, 330)
    updating_one = b.call(updating, one, 7200, 60)
    b.call(updating_one, rate, 7200, 2)
    b.call(updating_one, moments, 7200, 2500)
    b.unseen.append(Unseen("scipy.linalg.cython_blas", "built without probes", "cyprof build scipy", 0.03))
    b.unseen.append(Unseen("mtrand", "built without probes", "cyprof build numpy"))
    return b.profile()


def many(count: int = 2000) -> Profile:
    """A large program: `count` functions in modules of 50, called from their neighbours."""
    b = ProfileBuilder(target=f"{PROJECT}/large.py")
    ids = []
    for number in range(count):
        module = f"app.part{number // 50}"
        ids.append(b.function(module, f"work_{number}", f"app/part{number // 50}.py", 1 + 7 * (number % 50)))
    nodes = [b.call(-1, ids[0], 1, 1)]
    for number in range(1, count):
        ms = 400 / number if number % 3 else 3000 / number
        for parent in {(number - 1) // 3, (number * 7 + 3) % number}:
            node = b.call(nodes[parent], ids[number], 1 + number % 17, ms / 2)
        nodes.append(node)
    return b.profile()


def recursion() -> Profile:
    """Two functions that call each other, one that calls itself, and a generator."""
    b = ProfileBuilder(target=f"{PROJECT}/walk.py")
    body = b.function("__main__", "<module>", "walk.py", 1, "module")
    even = b.function("__main__", "is_even", "walk.py", 3)
    odd = b.function("__main__", "is_odd", "walk.py", 9)
    walk = b.function("tree", "walk", "tree.pyx", 5, "def")
    visit = b.function("tree", "visit", "tree.pyx", 14, "cdef")
    node = b.call(-1, body, 1, 0.5)
    parent = node
    for depth in range(6):
        parent = b.call(parent, odd if depth % 2 else even, 1, 2)
    walking = b.call(node, walk, 1, 30, resumes=500)
    visiting = b.call(walking, visit, 500, 12)
    b.call(visiting, visit, 4000, 55)
    return b.profile()


def single() -> Profile:
    """One function."""
    b = ProfileBuilder(target="-c", wall_ns=3 * MS)
    b.call(-1, b.function("__main__", "<module>", "<string>", 1, "module"), 1, 3)
    return b.profile()


def empty() -> Profile:
    """Nothing at all."""
    return ProfileBuilder(target=f"{PROJECT}/nothing.py", wall_ns=2 * MS).profile()


def uncertain() -> Profile:
    """A function so small and so often called that the probes' cost leaves its time open."""
    cost = ProbeCost(call_ns=4.0, python_ns=60.0, builtin_ns=50.0, clock_ns=25.0, line_ns=0.9)
    b = ProfileBuilder(target=f"{PROJECT}/tiny.py", cost=cost)
    main = b.function("__main__", "main", "tiny.py", 3)
    loop = b.function("fast", "loop", "fast.pyx", 10, "def")
    tiny = b.function("fast", "tiny", "fast.pyx", 4, "cdef", nogil=True)
    node = b.call(b.call(-1, main, 1, 5), loop, 1, 300)
    b.call(node, tiny, 50_000_000, 260)
    profile = b.profile()
    # Set by hand, so that what is shown does not hang on how the cost is estimated.
    times = ([5 * MS, 200 * MS, 160 * MS], [5 * MS, 258 * MS, 218 * MS], list(profile.tree.self_ns))
    profile.__dict__["node_times"] = NodeTimes(*times)
    return profile


NASTY = 'a "b" <c> & d | e } f\n\\N Größe & &lt; ' + "x" * 4000


def nasty() -> Profile:
    """Names that break a careless writer."""
    b = ProfileBuilder(target=f'{PROJECT}/my "odd" <file> & co.py')
    main = b.function("__main__", "main", "my odd.py", 1)
    odd = b.function('pkg.<"odd"> & co|{x}', NASTY, 'odd & "co" <1>.py', 7)
    empty_name = b.function("", "", "", 0)
    node = b.call(-1, main, 1, 5)
    b.call(node, odd, 2, 9)
    b.call(node, empty_name, 2, 1)
    b.unseen.append(Unseen("x\x00y<z>", 'no "probes" & so on', "", 0.2))
    b.notes.append('A note with <angles>, "quotes" & a back\\slash.')
    return b.profile()
