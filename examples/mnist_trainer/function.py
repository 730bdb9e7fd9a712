"""One step of a computation, with its derivative."""

from __future__ import annotations

import weakref

import numpy as np

from .variable import Variable


class Function:
    """A differentiable step: arrays in, one array out.

    Make a new instance for every call: it remembers its inputs and its output, and these
    memories are the graph that ``Variable.backward`` walks.
    """

    rank: int
    inputs: tuple[Variable, ...]
    output: weakref.ref[Variable]

    def __call__(self, *inputs: Variable) -> Variable:
        """Compute the output and, unless an input is volatile, remember the way there."""
        arrays = tuple(x.data for x in inputs)
        self.check_inputs(arrays)
        output = Variable(self.forward(arrays), volatile=any(x.volatile for x in inputs))
        if not output.volatile:
            self.rank = max(x.rank for x in inputs)
            self.inputs = inputs
            # Weak, because the output points to us: a cycle would wait for the garbage
            # collector, with all its arrays.
            self.output = weakref.ref(output)
            output.set_creator(self)
        return output

    def check_inputs(self, inputs: tuple[np.ndarray, ...]) -> None:
        """Raise ``TypeError`` when these arrays make no sense here."""

    def forward(self, inputs: tuple[np.ndarray, ...]) -> np.ndarray:
        """Return the output's array."""
        raise NotImplementedError

    def backward(self, inputs: tuple[np.ndarray, ...], grad_output: np.ndarray) -> tuple[np.ndarray | None, ...]:
        """Return the gradient for each input; ``None`` where there is none."""
        raise NotImplementedError
