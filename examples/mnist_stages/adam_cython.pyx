# cython: language_level=3
"""Adam of adam_python.py, compiled: the same numpy expressions, so the same passes over the same temporary arrays."""

import math

import numpy as np

from mnist_trainer.optimizer import GradientMethod


class Adam(GradientMethod):
    """Steps along a running mean of the gradient, scaled by that of its square."""

    def __init__(self, alpha=0.001, beta1=0.9, beta2=0.999, eps=1e-8):
        self.alpha = alpha
        self.beta1 = beta1
        self.beta2 = beta2
        self.eps = eps

    def init_state(self, param):
        """Return the two running means."""
        return {"m": np.zeros_like(param.data), "v": np.zeros_like(param.data)}

    @property
    def lr(self):
        """The step size; it makes up for the running means, which start at zero."""
        fix1 = 1 - self.beta1**self.t
        fix2 = 1 - self.beta2**self.t
        return self.alpha * math.sqrt(fix2) / fix1

    def update_one(self, param, state):
        """Change one parameter in place, and its state."""
        m, v = state["m"], state["v"]
        grad = param.grad
        m += (1 - self.beta1) * (grad - m)
        v += (1 - self.beta2) * (grad * grad - v)
        param.data -= self.lr * m / (np.sqrt(v) + self.eps)
