"""The steps of the network that are written in Python; ``relu.pyx`` holds the other one."""

from __future__ import annotations

import numpy as np

from .function import Function
from .variable import Variable


class LinearFunction(Function):
    """``y = x W^T + b``: every output is a weighted sum of all inputs."""

    def check_inputs(self, inputs: tuple[np.ndarray, ...]) -> None:
        x, weight, bias = inputs
        if x.ndim != 2 or x.shape[1] != weight.shape[1]:
            raise TypeError(f"linear: x {x.shape} does not fit the weights {weight.shape}")
        if bias.shape != weight.shape[:1]:
            raise TypeError(f"linear: bias {bias.shape} does not fit the weights {weight.shape}")

    def forward(self, inputs: tuple[np.ndarray, ...]) -> np.ndarray:
        x, weight, bias = inputs
        y: np.ndarray = x.dot(weight.T)
        y += bias
        return y

    def backward(self, inputs: tuple[np.ndarray, ...], grad_output: np.ndarray) -> tuple[np.ndarray, ...]:
        x, weight, _ = inputs
        # The first layer's grad_x is thrown away: nobody asks for the gradient of the images.
        grad_x = grad_output.dot(weight)
        grad_weight = grad_output.T.dot(x)
        grad_bias = grad_output.sum(axis=0)
        return grad_x, grad_weight, grad_bias


class SoftmaxCrossEntropy(Function):
    """How surprised the network is by the right labels: the mean of ``-log p(label)``."""

    probabilities: np.ndarray

    def check_inputs(self, inputs: tuple[np.ndarray, ...]) -> None:
        check_scores_and_labels("softmax cross entropy", *inputs)

    def forward(self, inputs: tuple[np.ndarray, ...]) -> np.ndarray:
        scores, labels = inputs
        # Softmax does not change when all scores move together, and exp() cannot overflow
        # when the largest is 0.
        shifted = scores - scores.max(axis=1, keepdims=True)
        exponentials = np.exp(shifted)
        sums = exponentials.sum(axis=1, keepdims=True)
        self.probabilities = exponentials / sums
        log_probabilities = shifted - np.log(sums)
        picked = log_probabilities[np.arange(len(labels)), labels]
        return np.asarray(-picked.mean(), dtype=scores.dtype)

    def backward(self, inputs: tuple[np.ndarray, ...], grad_output: np.ndarray) -> tuple[np.ndarray | None, ...]:
        _, labels = inputs
        grad_scores = self.probabilities.copy()
        grad_scores[np.arange(len(labels)), labels] -= 1
        grad_scores *= grad_output / len(labels)
        return grad_scores, None


class Accuracy(Function):
    """The share of rows whose highest score is at the right label. It has no derivative."""

    def check_inputs(self, inputs: tuple[np.ndarray, ...]) -> None:
        check_scores_and_labels("accuracy", *inputs)

    def forward(self, inputs: tuple[np.ndarray, ...]) -> np.ndarray:
        scores, labels = inputs
        hits = scores.argmax(axis=1) == labels
        return np.asarray(hits.mean(), dtype=scores.dtype)


def check_scores_and_labels(name: str, scores: np.ndarray, labels: np.ndarray) -> None:
    """Raise ``TypeError`` unless there is one whole-numbered label for each row of scores."""
    if labels.dtype.kind not in "iu":
        raise TypeError(f"{name}: labels must be whole numbers, not {labels.dtype}")
    if scores.ndim != 2 or labels.shape != scores.shape[:1]:
        raise TypeError(f"{name}: labels {labels.shape} do not fit the scores {scores.shape}")


def linear(x: Variable, weight: Variable, bias: Variable) -> Variable:
    """Return ``x W^T + b``."""
    return LinearFunction()(x, weight, bias)


def softmax_cross_entropy(scores: Variable, labels: Variable) -> Variable:
    """Return the mean loss, one number."""
    return SoftmaxCrossEntropy()(scores, labels)


def accuracy(scores: Variable, labels: Variable) -> Variable:
    """Return the share of rows that are right, one number from 0 to 1."""
    return Accuracy()(scores, labels)
