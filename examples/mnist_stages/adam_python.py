"""Adam in numpy, as the original has it: each expression reads and writes whole arrays."""

from __future__ import annotations

import math

import numpy as np
from mnist_trainer.optimizer import GradientMethod, State
from mnist_trainer.variable import Variable


class Adam(GradientMethod):
    """Steps along a running mean of the gradient, scaled by that of its square."""

    def __init__(self, alpha: float = 0.001, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8) -> None:
        self.alpha = alpha
        self.beta1 = beta1
        self.beta2 = beta2
        self.eps = eps

    def init_state(self, param: Variable) -> State:
        """Return the two running means."""
        return {"m": np.zeros_like(param.data), "v": np.zeros_like(param.data)}

    @property
    def lr(self) -> float:
        """The step size; it makes up for the running means, which start at zero."""
        fix1 = 1 - self.beta1**self.t
        fix2 = 1 - self.beta2**self.t
        return self.alpha * math.sqrt(fix2) / fix1

    def update_one(self, param: Variable, state: State) -> None:
        """Change one parameter in place, and its state."""
        m, v = state["m"], state["v"]
        grad = param.grad
        assert grad is not None
        m += (1 - self.beta1) * (grad - m)
        v += (1 - self.beta2) * (grad * grad - v)
        param.data -= self.lr * m / (np.sqrt(v) + self.eps)
