# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# distutils: extra_compile_args = -O2
"""ReLU as one writes it first, and compiled as setuptools often does, with -O2: several times slower than numpy.

Each element is chosen by a branch. The signs of a layer's outputs are as good as random, so the processor guesses every
other branch wrong and throws away the work it began. ``mnist_trainer/relu.pyx`` is the same rule without the branch.
"""

import numpy as np

from mnist_trainer.function import Function


class ReLU(Function):
    """``y = max(x, 0)``."""

    def forward(self, inputs):
        x, = inputs
        y = np.empty(x.shape, np.float32)
        relu_naive_forward(x.reshape(-1), y.reshape(-1))
        return y

    def backward(self, inputs, grad_output):
        x, = inputs
        grad_x = np.empty(x.shape, np.float32)
        relu_naive_backward(x.reshape(-1), grad_output.reshape(-1), grad_x.reshape(-1))
        return grad_x,


def relu(x):
    """Return ``max(x, 0)`` of a variable."""
    return ReLU()(x)


cdef void relu_naive_forward(const float[::1] x, float[::1] y) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        if x[i] > 0:
            y[i] = x[i]
        else:
            y[i] = 0


cdef void relu_naive_backward(const float[::1] x, const float[::1] gy, float[::1] gx) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        if x[i] > 0:
            gx[i] = gy[i]
        else:
            gx[i] = 0
