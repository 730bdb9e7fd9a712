"""The derivative of ReLU, in numpy and in Cython: which is fastest, and why?

    cyprof bench examples/relu_derivative.py

The question is an old one: `ceil(clip(X, 0, 1))` was measured to be 23 times slower than `(X >= 0).view('i1')`, and the
guess was that mispredicted branches are to blame. The evidence says otherwise.
"""

from __future__ import annotations

import numpy as np
import relu_kernels

from cyprof.bench import setup, variant

try:
    import numexpr
except ModuleNotFoundError:
    numexpr = None
else:
    numexpr.set_num_threads(1)


@setup
def data(scale: float = 1.0) -> np.ndarray:
    """Random signs, as the outputs of a layer have them, and a few exact zeros, where the variants may differ."""
    x = np.random.default_rng(0).standard_normal((max(1, int(3072 * scale)), 10000))
    x[0, 10:20] = 0
    return x


@variant(title="(X>=0).view('i1')")
def compare(x: np.ndarray) -> np.ndarray:
    return (x >= 0).view("i1")


@variant(title="ceil(clip(X, 0, 1))")
def ceil_clip(x: np.ndarray) -> np.ndarray:
    return np.ceil(np.clip(x, 0, 1))


if numexpr is not None:

    @variant(title="numexpr X>=0")
    def numexpr_compare(x: np.ndarray) -> np.ndarray:
        return numexpr.evaluate("x >= 0", {"x": x}).view("i1")

    @variant(title="numexpr (X>=0)+0")
    def numexpr_plus(x: np.ndarray) -> np.ndarray:
        return numexpr.evaluate("(x >= 0) + 0", {"x": x})


@variant(title="Cython, int8")
def cython_int8(x: np.ndarray) -> np.ndarray:
    return relu_kernels.derivative_int8(x)


@variant(title="Cython, float64")
def cython_float64(x: np.ndarray) -> np.ndarray:
    return relu_kernels.derivative_float64(x)
