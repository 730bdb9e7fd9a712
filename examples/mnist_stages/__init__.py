"""The trainer in the stages of the experiment it retells: what is moved to Cython, one thing after another.

* ``python``: all of it is Python and numpy;
* ``cython``: the training loop compiled, untouched;
* ``cdef``: the training loop with C types;
* ``adam``: that, and Adam compiled, the same numpy expressions;
* ``fused``: Adam and ReLU as loops of one pass each, which run without the GIL.

The last one is ``mnist_trainer`` itself, with nothing from here. All have the same losses.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

STAGES = ("python", "cython", "cdef", "adam", "fused")
RELUS = ("numpy", "naive", "fused")


def parts(stage: str, relu: str | None = None) -> tuple[Callable[..., Any] | None, Callable[..., Any], Callable[..., Any]]:
    """Return what a stage is made of: (train, Adam, relu). ``train`` is None where the script's own is meant.

    Only what a stage needs is imported, so that only that has to be compiled.
    """
    loops = {"cython": "mnist_stages.train_cython", "cdef": "mnist_stages.train_cdef", "adam": "mnist_stages.train_cdef"}
    rules = {"adam": "mnist_stages.adam_cython", "fused": "mnist_trainer.adam"}
    relus = {"numpy": "mnist_stages.relu_numpy", "naive": "mnist_stages.relu_naive", "fused": "mnist_trainer.relu"}
    chosen = relu or ("fused" if stage == "fused" else "numpy")
    train = import_module(loops[stage]).train if stage in loops else None
    rule = import_module(rules.get(stage, "mnist_stages.adam_python")).Adam
    return train, rule, import_module(relus[chosen]).relu
