"""ReLU in numpy."""

from __future__ import annotations

import numpy as np
from mnist_trainer.function import Function
from mnist_trainer.variable import Variable


class ReLU(Function):
    """``y = max(x, 0)``. The gradient is zero where x is zero, negative or nan."""

    def forward(self, inputs: tuple[np.ndarray, ...]) -> np.ndarray:
        """Return ``max(x, 0)``."""
        (x,) = inputs
        y: np.ndarray = np.maximum(x, np.float32(0))
        return y

    def backward(self, inputs: tuple[np.ndarray, ...], grad_output: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the gradient, passed on where x is above zero."""
        (x,) = inputs
        return (grad_output * (x > 0),)


def relu(x: Variable) -> Variable:
    """Return ``max(x, 0)`` of a variable."""
    return ReLU()(x)
