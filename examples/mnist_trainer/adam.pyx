# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
# distutils: extra_compile_args = -O3 -fno-math-errno
"""Adam, the rule that changes the parameters (Kingma and Ba, 2014). float32 only.

In numpy this rule is about ten expressions, and each of them reads and writes whole arrays.
``adam_step`` does everything in one pass. That alone gains little; the rest is to let the C
compiler handle several elements with one instruction, and two checks stand in its way:

* Cython checks that no divisor is zero, as Python does. ``cdivision=True`` leaves that out.
* gcc checks after each square root whether to set ``errno``. ``-fno-math-errno`` tells it that
  nobody reads that; unlike ``-ffast-math`` it changes no result.
"""

import math

import numpy as np

from libc.math cimport sqrtf

from .optimizer import GradientMethod


class Adam(GradientMethod):
    """Steps along a running mean of the gradient, scaled by that of its square."""

    def __init__(self, alpha=0.001, beta1=0.9, beta2=0.999, eps=1e-8):
        self.alpha = alpha
        self.beta1 = beta1
        self.beta2 = beta2
        self.eps = eps

    def init_state(self, param):
        """Return the two running means, as flat arrays."""
        return {
            "m": np.zeros(param.data.size, np.float32),
            "v": np.zeros(param.data.size, np.float32),
        }

    @property
    def lr(self):
        """The step size; it makes up for the running means, which start at zero."""
        fix1 = 1 - self.beta1**self.t
        fix2 = 1 - self.beta2**self.t
        return self.alpha * math.sqrt(fix2) / fix1

    def update_one(self, param, state):
        """Change one parameter in place, and its state."""
        adam_step(
            param.data.reshape(-1), param.grad.reshape(-1), state["m"], state["v"],
            self.lr, 1 - self.beta1, 1 - self.beta2, self.eps,
        )


cdef void adam_step(
    float[::1] data, const float[::1] grad, float[::1] m, float[::1] v,
    float lr, float rate1, float rate2, float eps,
) noexcept nogil:
    """Move each element by its own step; m and v creep towards grad and its square."""
    cdef Py_ssize_t i
    cdef float g, mean, square
    for i in range(data.shape[0]):
        g = grad[i]
        mean = m[i] + rate1 * (g - m[i])
        square = v[i] + rate2 * (g * g - v[i])
        m[i] = mean
        v[i] = square
        data[i] -= lr * mean / (sqrtf(square) + eps)
