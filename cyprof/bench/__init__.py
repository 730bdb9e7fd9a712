"""Variants of one computation, written in a file for `cyprof bench`.

    from cyprof.bench import setup, variant

    @setup
    def data(scale=1.0):                # called once; what it returns goes to every variant
        return np.random.default_rng(0).standard_normal(int(1_000_000 * scale))

    @variant
    def first(x): ...

    @variant(title="with numexpr")
    def second(x): ...

The first variant is what the others are held against. A setup that takes `scale` is called with a small one where its data
are for a slow simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, overload

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to compute it, and what it is called."""

    title: str
    function: Callable[..., Any]


variants: list[Variant] = []
setups: list[Callable[..., Any]] = []


def setup(function: Function) -> Function:
    """Marks the function that makes the data: a tuple is handed to the variants as their arguments, anything else as one."""
    setups.append(function)
    return function


@overload
def variant(function: Function) -> Function: ...


@overload
def variant(*, title: str) -> Callable[[Function], Function]: ...


def variant(function: Function | None = None, *, title: str = "") -> Function | Callable[[Function], Function]:
    """Marks a variant; `title` is what it is called, by default its name."""

    def register(marked: Function) -> Function:
        variants.append(Variant(title or str(getattr(marked, "__name__", marked)), marked))
        return marked

    return register if function is None else register(function)
