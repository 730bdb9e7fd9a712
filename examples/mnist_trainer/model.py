"""The network for the digits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .functions import accuracy, softmax_cross_entropy
from .link import Chain, Linear
from .relu import relu
from .variable import Variable


class MnistMLP(Chain):
    """Three layers with ReLU between them: 784 pixels in, a score for each digit out."""

    l1: Linear
    l2: Linear
    l3: Linear

    def __init__(
        self, units: int, rng: np.random.Generator, n_in: int = 784, activation: Callable[[Variable], Variable] = relu
    ) -> None:
        super().__init__(l1=Linear(n_in, units, rng), l2=Linear(units, units, rng), l3=Linear(units, 10, rng))
        self.activation = activation

    def __call__(self, x: Variable) -> Variable:
        """Return the scores, one row for each image."""
        h1 = self.activation(self.l1(x))
        h2 = self.activation(self.l2(h1))
        return self.l3(h2)


class Classifier(Chain):
    """A network together with its loss; the last loss and accuracy stay as attributes."""

    predictor: MnistMLP
    loss: Variable
    accuracy: Variable

    def __init__(self, predictor: MnistMLP) -> None:
        super().__init__(predictor=predictor)

    def __call__(self, x: Variable, labels: Variable) -> Variable:
        """Return the loss on these images."""
        scores = self.predictor(x)
        self.loss = softmax_cross_entropy(scores, labels)
        self.accuracy = accuracy(scores, labels)
        return self.loss
