"""Numbers and names as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cyprof.view.units import count_text, range_text, share_text, shorten, time_text, visible


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 s"),
        (3, "3.00 ns"),
        (149_000, "149 µs"),
        (999_600, "1.00 ms"),
        (12_345_678, "12.3 ms"),
        (1_040_000_000, "1.04 s"),
        (469_797_000_000, "470 s"),
        (723_000_000_000, "12 min 3 s"),
        (7_384_000_000_000, "2 h 3 min"),
    ],
)
def test_times(ns: int, text: str) -> None:
    assert time_text(ns) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (0.0003, "<0.1 %"), (0.029, "2.9 %"), (0.0996, "10 %"), (0.952, "95 %"), (1, "100 %")],
)
def test_shares(share: float, text: str) -> None:
    assert share_text(share) == text


def test_counts_and_ranges() -> None:
    assert count_text(1, "call") == "1 call"
    assert count_text(6600, "call") == "6,600 calls"
    assert range_text(0.12, 0.31) == "12-31 %"
    assert range_text(0.121, 0.122) == "12 %"


@given(st.integers(1, 10**18))
def test_any_time_has_a_unit_and_no_exponent(ns: int) -> None:
    number, _, unit = time_text(ns).partition(" ")
    assert "e" not in number
    assert unit


@given(st.text(max_size=200), st.integers(3, 50))
def test_shortened_text_fits_and_shows_that_it_was_cut(text: str, most: int) -> None:
    short = shorten(text, most)
    assert len(short) <= most
    assert short == text or "…" in short


@given(st.text())
def test_visible_text_can_be_written_on_one_line(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert len(shown) == len(text)
    assert not any(letter < " " for letter in shown)
