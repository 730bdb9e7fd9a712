"""Adam against the same rule in numpy."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("trainer")


def test_adam_equals_numpy() -> None:
    from mnist_trainer.adam import Adam
    from mnist_trainer.variable import Variable

    rng = np.random.default_rng(0)
    adam = Adam(alpha=0.01, beta1=0.8, beta2=0.99, eps=1e-6)
    param = Variable(rng.normal(size=(13, 7)).astype(np.float32))
    state = adam.init_state(param)
    data = param.data.astype(np.float64)
    m = np.zeros_like(data)
    v = np.zeros_like(data)
    for t in range(1, 6):
        grad = rng.normal(size=data.shape)
        grad[0, 0] = 0
        param.grad = grad.astype(np.float32)
        adam.t = t
        adam.update_one(param, state)
        m = 0.8 * m + (1 - 0.8) * grad
        v = 0.99 * v + (1 - 0.99) * grad**2
        step = 0.01 * np.sqrt(1 - 0.99**t) / (1 - 0.8**t)
        data -= step * m / (np.sqrt(v) + 1e-6)
        assert adam.lr == pytest.approx(step)
        np.testing.assert_allclose(param.data, data, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(state["m"], m.ravel(), rtol=1e-4, atol=1e-7)
        np.testing.assert_allclose(state["v"], v.ravel(), rtol=1e-4, atol=1e-7)
    assert param.data.dtype == np.float32


def test_first_step_is_about_alpha_whatever_the_gradient() -> None:
    from mnist_trainer.adam import Adam
    from mnist_trainer.variable import Variable

    param = Variable(np.zeros(3, np.float32))
    param.grad = np.array([1e-3, -5, 200], dtype=np.float32)
    adam = Adam()
    adam.t = 1
    adam.update_one(param, adam.init_state(param))
    np.testing.assert_allclose(param.data, [-0.001, 0.001, -0.001], rtol=1e-3)


def test_wrong_type_is_refused() -> None:
    from mnist_trainer.adam import Adam
    from mnist_trainer.variable import Variable

    param = Variable(np.zeros(3))
    param.grad = np.zeros(3)
    adam = Adam()
    adam.t = 1
    with pytest.raises(ValueError, match="dtype"):
        adam.update_one(param, adam.init_state(param))
