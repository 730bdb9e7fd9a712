"""The layers and their derivatives, against numbers got in another way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("trainer")


def numerical_gradient(value: Callable[[], float], array: np.ndarray, step: float) -> np.ndarray:
    """Return d value() / d array, by moving each element a little both ways."""
    gradient = np.zeros(array.shape)
    for index in np.ndindex(array.shape):
        kept = array[index]
        array[index] = kept + step
        above = value()
        array[index] = kept - step
        below = value()
        array[index] = kept
        gradient[index] = (above - below) / (2 * step)
    return gradient


def test_linear_gradients() -> None:
    from mnist_trainer.functions import LinearFunction

    rng = np.random.default_rng(1)
    arrays = (rng.normal(size=(4, 3)), rng.normal(size=(5, 3)), rng.normal(size=5))
    direction = rng.normal(size=(4, 5))
    gradients = LinearFunction().backward(arrays, direction)
    for array, gradient in zip(arrays, gradients, strict=True):
        expected = numerical_gradient(lambda: float((LinearFunction().forward(arrays) * direction).sum()), array, 1e-6)
        assert gradient.shape == array.shape
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-8)


def test_softmax_cross_entropy_gradient() -> None:
    from mnist_trainer.functions import SoftmaxCrossEntropy

    rng = np.random.default_rng(2)
    scores = rng.normal(size=(6, 10))
    labels = np.array([0, 9, 3, 3, 1, 7], dtype=np.int32)
    function = SoftmaxCrossEntropy()
    function.forward((scores, labels))
    gradient, none = function.backward((scores, labels), np.asarray(2.0))
    expected = numerical_gradient(lambda: 2 * float(SoftmaxCrossEntropy().forward((scores, labels))), scores, 1e-6)
    assert none is None
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-8)


def test_softmax_cross_entropy_of_a_fair_guess_and_of_huge_scores() -> None:
    from mnist_trainer.functions import SoftmaxCrossEntropy

    labels = np.array([4, 2], dtype=np.int32)
    even = SoftmaxCrossEntropy().forward((np.zeros((2, 10), np.float32), labels))
    assert even.dtype == np.float32
    assert float(even) == pytest.approx(np.log(10))
    huge = np.zeros((2, 10), np.float32)
    huge[[0, 1], labels] = 1e30
    assert float(SoftmaxCrossEntropy().forward((huge, labels))) == 0


def test_accuracy() -> None:
    from mnist_trainer.functions import Accuracy

    scores = np.eye(10, dtype=np.float32)[[3, 1, 4, 1]]
    labels = np.array([3, 1, 5, 1], dtype=np.int32)
    assert float(Accuracy().forward((scores, labels))) == 0.75


def test_relu_gradient() -> None:
    from mnist_trainer.relu import ReLU

    rng = np.random.default_rng(3)
    x = rng.uniform(0.2, 1, size=(5, 7)).astype(np.float32)
    x *= rng.choice([-1, 1], size=x.shape)
    direction = rng.normal(size=x.shape).astype(np.float32)
    gradient = ReLU().backward((x,), direction)[0]
    expected = numerical_gradient(lambda: float((ReLU().forward((x,)) * direction.astype(np.float64)).sum()), x, 2.0**-5)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)


EDGES = np.array([[0.0, -0.0, 1.5, -1.5], [np.inf, -np.inf, 1e-45, -1e-45]], dtype=np.float32)


def test_relu_equals_numpy() -> None:
    from mnist_trainer.relu import ReLU

    rng = np.random.default_rng(4)
    for x in (EDGES, rng.normal(size=(100, 1003)).astype(np.float32), np.empty((0, 4), np.float32)):
        gy = rng.normal(size=x.shape).astype(np.float32)
        y = ReLU().forward((x,))
        (gx,) = ReLU().backward((x,), gy)
        assert (y.dtype, y.shape) == (np.float32, x.shape)
        np.testing.assert_array_equal(y, np.maximum(x, 0))
        np.testing.assert_array_equal(gx, gy * (x > 0))


def test_relu_lets_nan_pass_but_not_its_gradient() -> None:
    from mnist_trainer.relu import ReLU

    x = np.full((1, 33), np.nan, dtype=np.float32)
    np.testing.assert_array_equal(ReLU().forward((x,)), np.maximum(x, 0))
    np.testing.assert_array_equal(ReLU().backward((x,), np.ones_like(x))[0], np.zeros_like(x))


def test_relu_of_arrays_in_any_memory_order() -> None:
    from mnist_trainer.relu import ReLU

    x = np.random.default_rng(5).normal(size=(8, 6)).astype(np.float32)
    for view in (x.T, x[::2, ::-1], np.asfortranarray(x)):
        np.testing.assert_array_equal(ReLU().forward((view,)), np.maximum(view, 0))
        gx = ReLU().backward((view,), view)[0]
        np.testing.assert_array_equal(gx, view * (view > 0))


def test_wrong_inputs_are_named() -> None:
    from mnist_trainer.functions import accuracy, linear, softmax_cross_entropy
    from mnist_trainer.relu import relu
    from mnist_trainer.variable import Variable

    def floats(*shape: int) -> Variable:
        return Variable(np.zeros(shape, np.float32))

    with pytest.raises(TypeError, match="linear: x"):
        linear(floats(2, 3), floats(5, 4), floats(5))
    with pytest.raises(TypeError, match="linear: bias"):
        linear(floats(2, 4), floats(5, 4), floats(4))
    with pytest.raises(TypeError, match="whole numbers"):
        softmax_cross_entropy(floats(2, 10), floats(2))
    with pytest.raises(TypeError, match="do not fit the scores"):
        accuracy(floats(2, 10), Variable(np.zeros(3, np.int32)))
    with pytest.raises(TypeError, match="float32, not float64"):
        relu(Variable(np.zeros((2, 2))))


def test_whole_network_gradient() -> None:
    from mnist_trainer.model import Classifier, MnistMLP
    from mnist_trainer.variable import Variable

    rng = np.random.default_rng(6)
    model = Classifier(MnistMLP(5, rng, n_in=4))
    x = Variable(rng.normal(size=(3, 4)).astype(np.float32))
    labels = Variable(np.array([1, 0, 8], dtype=np.int32))
    model.zerograds()
    model(x, labels).backward()
    for path, param in model.namedparams():
        expected = numerical_gradient(lambda: float(model(x, labels).data), param.data, 2.0**-8)
        np.testing.assert_allclose(param.grad, expected, rtol=0.02, atol=1e-3, err_msg=path)


def test_backward_through_a_value_used_twice() -> None:
    """x -> h -> (relu(h), h) -> sum: the gradients of both ways must meet at h first."""
    from mnist_trainer.function import Function
    from mnist_trainer.relu import relu
    from mnist_trainer.variable import Variable

    class Add(Function):
        def forward(self, inputs: tuple[np.ndarray, ...]) -> np.ndarray:
            return inputs[0] + inputs[1]

        def backward(
            self,
            inputs: tuple[np.ndarray, ...],
            grad_output: np.ndarray,
        ) -> tuple[np.ndarray, ...]:
            return grad_output, grad_output

    x = Variable(np.array([[2.0, -3.0]], dtype=np.float32))
    h = Add()(x, x)
    y = Add()(relu(relu(h)), h)
    assert (h.rank, y.rank) == (1, 4)
    y.backward()
    np.testing.assert_array_equal(h.grad, [[2, 1]])
    np.testing.assert_array_equal(x.grad, [[4, 2]])


def test_volatile_keeps_no_history() -> None:
    from mnist_trainer.relu import relu
    from mnist_trainer.variable import Variable

    y = relu(Variable(np.ones((1, 1), np.float32), volatile=True))
    assert y.volatile
    assert y.creator is None
