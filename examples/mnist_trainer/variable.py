"""An array that remembers how it was computed."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .function import Function


class Variable:
    """A value in a computation, and the gradient of the result with respect to it.

    ``creator`` is the function that computed the value; a *leaf* (an input or a parameter)
    has none. ``rank`` is the number of functions on the longest way from a leaf to here.
    A ``volatile`` variable keeps no history: nothing computed from it can be
    back-propagated, and its memory is freed at once. Use it for testing.
    """

    def __init__(self, data: np.ndarray, volatile: bool = False) -> None:
        self.data = data
        self.grad: np.ndarray | None = None
        self.creator: Function | None = None
        self.rank = 0
        self.volatile = volatile

    def zerograd(self) -> None:
        """Set the gradient to zero."""
        if self.grad is None:
            self.grad = np.zeros_like(self.data)
        else:
            self.grad.fill(0)

    def set_creator(self, func: Function) -> None:
        """Note that ``func`` computed this variable."""
        self.creator = func
        self.rank = func.rank + 1

    def backward(self) -> None:
        """Compute the gradient of this variable with respect to all it depends on.

        Functions are visited from the highest rank to the lowest. So when a function's turn
        comes, everyone who used its output has already added to that output's gradient.
        A leaf's gradient is added to; call ``zerograd`` first for a fresh one.
        """
        heap: list[tuple[int, int, Function]] = []
        seen: set[Function] = set()

        def add_cand(func: Function) -> None:
            # The second number settles ties: functions themselves have no order.
            heapq.heappush(heap, (-func.rank, len(seen), func))
            seen.add(func)

        self.grad = np.ones_like(self.data)
        if self.creator is not None:
            add_cand(self.creator)
        while heap:
            func = heapq.heappop(heap)[-1]
            arrays = tuple(x.data for x in func.inputs)
            output = func.output()
            assert output is not None and output.grad is not None
            grads = func.backward(arrays, output.grad)
            for x, gx in zip(func.inputs, grads, strict=True):
                if gx is None:
                    continue
                if x.creator is None:
                    if x.grad is None:
                        x.grad = gx.copy()
                    else:
                        x.grad += gx
                elif x.creator in seen:
                    x.grad = x.grad + gx
                else:
                    x.grad = gx
                    add_cand(x.creator)
