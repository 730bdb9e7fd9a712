"""A program under cyprof does what it does under plain python: the same output, the same errors, the same end."""

from __future__ import annotations

import py_compile
import re
import sys
import zipapp
from pathlib import Path
from textwrap import dedent

import pytest
from cli_support import Done, cyprof, python, run, write

pytestmark = pytest.mark.every_python

SCRIPTS = {
    "nothing": "",
    "output": "import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.stdout.write('no line end')\n",
    "stdin": "import sys\nprint(repr(sys.stdin.read()), input if False else '')\n",
    "input": "print(input('name? '), input())\n",
    "argv": "import sys\nprint(sys.argv, sys.orig_argv[1:])\n",
    "path": "import sys\nprint(sys.path)\n",
    "main": """
        import sys
        print([name for name in globals()])
        print(__name__, __file__, __spec__, __package__, __doc__, type(__loader__).__name__, __builtins__)
        print(globals().get("__cached__"), globals().get("__annotations__"))
        print(sys.modules["__main__"].__dict__ is globals(), __loader__.name, __loader__.path)
        """,
    "docstring": '"""What it is."""\nprint(__doc__, dir())\nx: int = 3\nprint(__annotations__)\n',
    "future": "from __future__ import annotations\ndef f(x: nowhere): pass\nprint(f.__annotations__)\n",
    "not_future": "def f(x: print): pass\nprint(f.__annotations__)\n",
    "modules": """
        import sys
        left_out = {"threading", "_weakrefset", "cyprof"}
        print(sorted(name for name in sys.modules if name.partition(".")[0] not in left_out))
        """,
    "shadow": "import re, typing, json\nprint(re.mine, typing.mine, json.mine)\n",
    "exit_3": "import sys\nsys.exit(3)\n",
    "exit_text": "import sys\nprint('x')\nsys.exit('no luck: ä')\n",
    "exit_none": "raise SystemExit\n",
    "exit_large": "raise SystemExit(300)\n",
    "exit_object": "raise SystemExit([1, 2])\n",
    "exit_in_function": "import sys\ndef f():\n    try:\n        sys.exit(4)\n    finally:\n        print('finally')\nf()\n",
    "raises": "def f(x):\n    return 1 / x\n\n\nf(0)\n",
    "chained": """
        def f():
            try:
                {}["key"]
            except KeyError as error:
                raise ValueError("bad") from error
        try:
            f()
        except ValueError:
            raise RuntimeError("worse")
        """,
    "group": "raise ExceptionGroup('many', [ValueError(1), TypeError(2)])\n",
    "note": "e = ValueError('x')\ne.add_note('a note')\nraise e\n",
    "own_exception": "class Odd(Exception):\n    def __str__(self):\n        raise ValueError\nraise Odd\n",
    "bad_import": "import broken\n",
    "missing_import": "import not_there_at_all\n",
    "runtime_syntax": "exec('x = = 2')\n",
    "excepthook": """
        import sys, traceback
        def hook(kind, value, tb):
            print("hook", kind, value, len(traceback.extract_tb(tb)), value.__traceback__ is tb, sys.exc_info())
        sys.excepthook = hook
        1 / 0
        """,
    "excepthook_fails": "import sys\ndef hook(*args):\n    raise TypeError('in hook')\nsys.excepthook = hook\n1 / 0\n",
    "excepthook_exits": "import sys\nsys.excepthook = lambda *args: sys.exit(9)\n1 / 0\n",
    "excepthook_gone": "import sys\ndel sys.excepthook\n1 / 0\n",
    "last_exception": """
        import atexit, sys
        @atexit.register
        def late():
            print(sys.last_type, sys.last_value, sys.last_traceback.tb_frame.f_code.co_name, sys.last_traceback.tb_next)
        1 / 0
        """,
    "interrupt": "raise KeyboardInterrupt\n",
    "interrupt_signal": """
        import os, signal
        try:
            os.kill(os.getpid(), signal.SIGINT)
            import time; time.sleep(9)
        finally:
            print('finally')
        """,
    "interrupt_at_exit": """
        import atexit, sys
        atexit.register(lambda: print('late', sys.excepthook))
        raise KeyboardInterrupt('now')
        """,
    "interrupt_subclass": "class K(KeyboardInterrupt): pass\nraise K\n",
    "terminated": """
        import os, signal, time
        print('x', flush=True)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(9)
        """,
    "atexit": """
        import atexit, sys
        def late(what):
            print("late", what, file=sys.stderr)
            if what == 2:
                raise ValueError(what)
        for i in range(3):
            atexit.register(late, i)
        print("end")
        """,
    "threads": """
        import threading, time
        def work():
            time.sleep(0.2)
            print("worked")
        threading.Thread(target=work).start()
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        print(threading.main_thread().name, threading.current_thread() is threading.main_thread())
        """,
    "thread_raises": """
        import threading
        t = threading.Thread(target=lambda: 1 / 0, name='T')
        t.start(); t.join()
        print('on')
        """,
    "thread_excepthook": """
        import threading
        threading.excepthook = lambda a: print(a.exc_type)
        threading.Thread(target=lambda: 1 / 0).start()
        """,
    "unraisable": "class A:\n    def __del__(self): raise ValueError('x')\na = A()\ndel a\nprint('on')\n",
    "del_at_end": """
        class A:
            def __del__(self): print('gone', self.name)
        a = A(); a.name = 'a'
        b = [A()]; b[0].name = 'b'; b.append(b)
        """,
    "warning": "import warnings\nwarnings.warn('careful')\ndef f():\n    warnings.warn('here', DeprecationWarning, 2)\nf()\n",
    "syntax_warning": "print(1 is 1)\n",
    "fork": """
        import os, sys
        pid = os.fork()
        if not pid:
            print("child", flush=True)
            sys.exit(5)
        print("parent", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """,
    "multiprocessing_fork": """
        import multiprocessing
        def square(x):
            return x * x
        if __name__ == "__main__":
            with multiprocessing.get_context("fork").Pool(2) as pool:
                print(pool.map(square, range(5)))
        """,
    "multiprocessing_spawn": """
        import multiprocessing
        def square(x):
            return x * x
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(square, range(5)))
        """,
    "pickle": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A, A.__module__)\n",
    "dataclass": "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nprint(P(3))\n",
    "inspect": "import inspect\ndef f(): pass\nprint(inspect.getsource(f), inspect.getfile(f), inspect.getmodule(f))\n",
    "descriptors": "print(open(__file__).fileno())\n",
    "utf8": "# -*- coding: latin-1 -*-\nprint(len('ä'))\n",
    "stack": "import inspect, traceback\ndef f():\n    traceback.print_stack()\n    print(len(inspect.stack()))\nf()\n",
    "recursion": "import sys\nprint(sys.getrecursionlimit())\ndef f(n):\n    return f(n + 1)\nf(0)\n",
    "generator": "def g():\n    try:\n        yield 1\n    finally:\n        print('closed')\nx = g(); next(x)\n",
    "async": "import asyncio\nasync def f():\n    await asyncio.sleep(0.01)\n    raise ValueError('x')\nasyncio.run(f())\n",
}  # fmt: skip
BESIDE = {
    "broken.py": "x = (\n",
    "re.py": "mine = 1\n",
    "typing.py": "mine = 2\n",
    "json.py": "mine = 3\n",
}
LOADS_THREADING = sys.version_info < (3, 12)
"""The profile hook of new threads can only be set through it."""


def both(folder: Path, words: list[str], args: list[str], stdin: str = "", flags: tuple[str, ...] = ()) -> tuple[Done, Done]:
    """The same program under plain python and under cyprof."""
    output = str(folder.parent / f"{folder.name}.cyprof")
    plain = python(folder, *flags, *words, *args, stdin=stdin)
    ours = cyprof(folder, "run", *words, "-o", output, "--quiet", "--", *args, flags=flags, stdin=stdin)
    return _without_addresses(plain), _without_addresses(ours)


def _without_addresses(done: Done) -> Done:
    return Done(done.code, *(re.sub(r"\b0x[0-9a-f]+", "0x", text) for text in (done.out, done.err)))


@pytest.mark.parametrize("name", SCRIPTS)
def test_script(name: str, tmp_path: Path) -> None:
    files = {"prog.py": dedent(SCRIPTS[name])}
    needed = {"shadow": ("re.py", "typing.py", "json.py"), "bad_import": ("broken.py",)}.get(name, ())
    if name == "modules" and LOADS_THREADING:
        pytest.skip("this Python needs threading to be loaded, and what that needs")
    folder = write(tmp_path / "w", files | {file: BESIDE[file] for file in needed})
    plain, ours = both(folder, ["prog.py"], ["a", "--", "-o", "b c"], stdin="one\ntwo\n")
    if name == "terminated":
        # It ends so early that there may be nothing to show but the start of it.
        assert ours.err == "" or ours.err.startswith("cyprof: error: The program was ended by SIGTERM")
        ours = Done(ours.code, ours.out, "")
    assert ours == plain


@pytest.mark.parametrize("name", ["argv", "path", "main", "raises", "exit_text", "interrupt", "shadow", "modules"])
@pytest.mark.parametrize("form", ["-m", "-c", "folder", "zip", "package", "link", "./", "absolute", "pyc"])
def test_forms_of_target(form: str, name: str, tmp_path: Path) -> None:
    if name == "modules" and LOADS_THREADING:
        pytest.skip("this Python needs threading to be loaded, and what that needs")
    text = dedent(SCRIPTS[name])
    folder = write(tmp_path / "w", {"prog.py": text, "d/__main__.py": text, "p/__init__.py": "print('init')\n"})
    write(folder, {"p/__main__.py": text, "real/prog.py": text, **(BESIDE if name == "shadow" else {})})
    if name == "main" and form == "-c":
        text = "import sys\nprint(list(globals()), __name__, __spec__, __loader__, __builtins__)\n"
    if form == "zip":
        zipapp.create_archive(folder / "d", folder / "d.zip")
    if form == "link":
        (folder / "link.py").symlink_to(folder / "real" / "prog.py")
    if form == "pyc":
        py_compile.compile(str(folder / "prog.py"), str(folder / "prog.pyc"), dfile="prog.py")
    words = {
        "-m": ["-m", "prog"], "-c": ["-c", text], "folder": ["d"], "zip": ["d.zip"], "package": ["-m", "p"],
        "link": ["link.py"], "./": ["./prog.py"], "absolute": [str(folder / "prog.py")], "pyc": ["prog.pyc"],
    }[form]  # fmt: skip
    plain, ours = both(folder, words, ["a"])
    assert ours == plain


@pytest.mark.parametrize(
    "flags", [("-P",), ("-I",), ("-O",), ("-X", "dev"), ("-u",), ("-W", "error"), ("-Es",), ("-X", "utf8=0", "-B")]
)
def test_flags_of_the_interpreter(flags: tuple[str, ...], tmp_path: Path) -> None:
    text = (
        "import sys\nprint(sys.flags, sys._xoptions, sys.warnoptions, sys.path, sys.orig_argv[1:], sys.stdout.write_through)\n"
    )
    folder = write(tmp_path / "w", {"prog.py": text + "assert not __debug__\n"})
    plain = python(folder, *flags, "prog.py")
    # Without PYTHONPATH an interpreter that ignores it finds cyprof only where it is installed.
    start = "import runpy, sys; sys.path.append(sys.argv.pop(1)); runpy.run_module('cyprof', run_name='__main__')"
    import cyprof as package

    root = str(Path(package.__file__).parents[1])
    output = str(tmp_path / "x.cyprof")
    ours = run([sys.executable, *flags, "-c", start, root, "run", "prog.py", "--quiet", "-o", output], folder)
    assert ours == plain


def test_environment_is_untouched(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "w", {"prog.py": "import os\nprint(sorted(os.environ.items()), sorted(os.listdir('/proc/self/fd')))\n"}
    )
    plain, ours = both(folder, ["prog.py"], [])
    assert ours.out.partition(")]")[0] == plain.out.partition(")]")[0]


def test_safe_path_of_the_environment(tmp_path: Path) -> None:
    folder = write(tmp_path / "w", {"prog.py": "import sys\nprint(sys.path)\n"})
    output = str(tmp_path / "x.cyprof")
    plain = python(folder, "prog.py", PYTHONSAFEPATH="1")
    ours = cyprof(folder, "run", "prog.py", "--quiet", "-o", output, PYTHONSAFEPATH="1")
    assert ours == plain


def test_the_body_of_a_module_has_no_frame_of_cyprofs_below_it(tmp_path: Path) -> None:
    body = "import warnings\nwarnings.warn('old')\nraise ValueError('body')\n"
    folder = write(tmp_path / "w", {"prog.py": "import fast\n", "fast.pyx": body})
    ended = cyprof(folder, "run", "prog.py", "-o", str(tmp_path / "p.cyprof"), "--quiet")
    assert ended.code == 1
    assert re.search(r"<frozen importlib.*: UserWarning: old", ended.err) and "ValueError: body" in ended.err
    assert "cyprof" not in ended.err


def test_a_program_that_uses_cprofile(tmp_path: Path) -> None:
    text = "import cProfile\nprofiler = cProfile.Profile()\nprofiler.enable()\nsum([1])\nprofiler.disable()\nprint('fine')\n"
    folder = write(tmp_path, {"prog.py": text})
    done = cyprof(folder, "run", "prog.py", "-o", "r.cyprof")
    assert (done.code, done.out) == (0, "fine\n"), done
