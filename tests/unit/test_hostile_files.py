"""Files from strangers: whatever is in them, nothing of it runs, and no name becomes more than a name."""

from __future__ import annotations

import os
from pathlib import Path

import profiles
import pytest
from fuzz import targets
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cyprof.model import Function, Profile
from cyprof.render.sources import read_source

VALUES = (
    st.text(max_size=12)
    | st.integers(-1, 1 << 63)
    | st.sampled_from([targets.MARK, "\x1b]0;x\x07", "\u202e", "/dev/zero", "\\", '"'])
)
SOME = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(st.lists(st.tuples(st.lists(st.integers(0, 60), min_size=1, max_size=4), VALUES), min_size=1, max_size=6))
@SOME
def test_values_exchanged_at_will(tmp_path: Path, changes: list[tuple[list[int], object]]) -> None:
    targets.profile_of_values(tmp_path, changes)


@given(st.binary(max_size=200))
@example(b"{0")
@SOME
def test_any_bytes(tmp_path: Path, data: bytes) -> None:
    targets.file_of_bytes(tmp_path, "x.prof", data)
    targets.file_of_bytes(tmp_path, "x.cyprof", targets.forge(data))


HARM = [
    targets.MARK, "\x1b[2J\x1b]0;gone\x07", "a\u202eb\u2028c", '"]; evil [label="', "<b>&amp;</b>", "../../etc/passwd", "%n%s",
    "\\N\\G\\",
    "' onload='x", "]]>", "{{x}}", "${x}", "`id`",
]  # fmt: skip


def named(text: str) -> Profile:
    """A profile in which every text is `text`."""
    profile = profiles.mnist()
    functions = [
        Function(f.id, text, text + f.name, text, f.line, f.kind, f.nogil, f.language) for f in profile.functions
    ]  # fmt: skip
    profile.functions[:] = functions
    profile.files[:] = [text for _ in profile.files]
    profile.notes[:] = [text]
    profile.remarks.update({0: text})
    return profile


@pytest.mark.parametrize("text", HARM)
def test_names_stay_names(text: str) -> None:
    targets.show(named(text))


@pytest.mark.skipif(os.name != "posix", reason="devices and pipes")
def test_only_sources_are_quoted(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "private").write_text("a secret")
    (tmp_path / "large.py").write_bytes(b"")
    os.truncate(tmp_path / "large.py", 1 << 40)
    for name in (
        "/dev/zero",
        "/proc/self/environ",
        str(tmp_path / "pipe.py"),
        str(tmp_path / "large.py"),
        "a\0b",
        str(tmp_path),
    ):
        assert read_source(name, None) == (None, False)
    assert read_source(str(tmp_path / "private"), None) == (None, False)
    assert read_source(str(tmp_path / "private"), "0" * 64) == (None, False)
