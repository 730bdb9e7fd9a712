"""What happens in one training step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .link import Link
from .variable import Variable

State = dict[str, Any]


class Optimizer:
    """Changes the parameters of a link. ``t`` counts the steps."""

    target: Link

    def setup(self, target: Link) -> None:
        """Start to optimize ``target``, from step 0."""
        self.target = target
        self.t = 0
        self.states: dict[str, State] = {}

    def prepare(self) -> None:
        """Make a state for each parameter that has none yet."""
        for path, param in self.target.namedparams():
            if path not in self.states:
                self.states[path] = self.init_state(param)

    def init_state(self, param: Variable) -> State:
        """Return what the rule must remember about one parameter."""
        raise NotImplementedError


class GradientMethod(Optimizer):
    """An optimizer that follows the gradient of a loss. Subclasses say how far."""

    def update(self, lossfun: Callable[..., Variable], *args: Variable) -> None:
        """Take one step: the loss of ``args``, its gradient, a change of every parameter."""
        self.target.zerograds()
        loss = lossfun(*args)
        loss.backward()
        self.prepare()
        self.t += 1
        for path, param in self.target.namedparams():
            self.update_one(param, self.states[path])

    def update_one(self, param: Variable, state: State) -> None:
        """Change one parameter in place."""
        raise NotImplementedError
