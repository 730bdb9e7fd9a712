"""Things that own parameters."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .functions import linear
from .variable import Variable


class Link:
    """An owner of parameters, reached by name as attributes."""

    def __init__(self) -> None:
        self._params: dict[str, Variable] = {}

    def add_param(self, name: str, data: np.ndarray) -> None:
        """Make a parameter out of its first value. The gradient is nan until it is set."""
        param = Variable(np.ascontiguousarray(data, dtype=np.float32))
        param.grad = np.full_like(param.data, np.nan)
        self._params[name] = param
        setattr(self, name, param)

    def params(self) -> Iterator[Variable]:
        """Yield the parameters."""
        yield from self._params.values()

    def namedparams(self) -> Iterator[tuple[str, Variable]]:
        """Yield (path, parameter), the path like ``/l1/weight``."""
        for name, param in self._params.items():
            yield f"/{name}", param

    def zerograds(self) -> None:
        """Set the gradients of all parameters to zero."""
        for param in self.params():
            param.zerograd()


class Chain(Link):
    """A link made of other links, its children, reached by name as attributes."""

    def __init__(self, **children: Link) -> None:
        super().__init__()
        self._children = children
        for name, child in children.items():
            setattr(self, name, child)

    def children(self) -> Iterator[Link]:
        """Yield the links this one is made of."""
        yield from self._children.values()

    def params(self) -> Iterator[Variable]:
        """Yield the parameters of this link and of all below it."""
        yield from super().params()
        for child in self.children():
            yield from child.params()

    def namedparams(self) -> Iterator[tuple[str, Variable]]:
        """Yield (path, parameter) of this link and of all below it."""
        yield from super().namedparams()
        for name, child in self._children.items():
            for path, param in child.namedparams():
                yield f"/{name}{path}", param

    def zerograds(self) -> None:
        """Set the gradients of all parameters to zero, here and below.

        It does three times the work it should, and stays so: README.md tells how a profile
        shows it.
        """
        super().zerograds()
        for child in self.children():
            child.zerograds()


class Linear(Link):
    """A fully connected layer."""

    weight: Variable
    bias: Variable

    def __init__(self, n_in: int, n_out: int, rng: np.random.Generator) -> None:
        super().__init__()
        # This spread keeps the size of the signal about the same from layer to layer, when
        # ReLU stops half of it (He and others, 2015).
        spread = (2 / n_in) ** 0.5
        self.add_param("weight", rng.normal(0, spread, size=(n_out, n_in)))
        self.add_param("bias", np.zeros(n_out))

    def __call__(self, x: Variable) -> Variable:
        """Return ``x W^T + b``."""
        return linear(x, self.weight, self.bias)
