# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# distutils: extra_compile_args = -O3 -fno-math-errno
"""ReLU, the step that lets positive numbers pass and makes the others zero. float32 only.

Both loops load what they need into locals *before* they choose. Then the C compiler sees two
numbers and a choice, and handles many elements with one instruction. Written as
``gx[i] = gy[i] if x[i] > 0 else 0`` there is a load that may happen only sometimes; the loop
keeps a real branch, which random signs mispredict, and is slower than numpy.
"""

import numpy as np

from .function import Function


class ReLU(Function):
    """``y = max(x, 0)``.

    As ``numpy.maximum`` does, it lets nan pass: a network that has blown up shows it. The
    gradient is zero where x is zero (of either sign), negative or nan.
    """

    def check_inputs(self, inputs):
        x, = inputs
        if x.dtype != np.float32:
            raise TypeError(f"relu: x must be float32, not {x.dtype}")

    def forward(self, inputs):
        x, = inputs
        y = np.empty(x.shape, np.float32)
        relu_forward(x.reshape(-1), y.reshape(-1))
        return y

    def backward(self, inputs, grad_output):
        x, = inputs
        grad_x = np.empty(x.shape, np.float32)
        relu_backward(x.reshape(-1), grad_output.reshape(-1), grad_x.reshape(-1))
        return grad_x,


def relu(x):
    """Return ``max(x, 0)`` of a variable."""
    return ReLU()(x)


cdef void relu_forward(const float[::1] x, float[::1] y) noexcept nogil:
    cdef Py_ssize_t i
    cdef float value
    for i in range(x.shape[0]):
        value = x[i]
        y[i] = 0 if value < 0 else value


cdef void relu_backward(const float[::1] x, const float[::1] gy, float[::1] gx) noexcept nogil:
    cdef Py_ssize_t i
    cdef float value, gradient
    for i in range(x.shape[0]):
        value = x[i]
        gradient = gy[i]
        gx[i] = gradient if value > 0 else 0
