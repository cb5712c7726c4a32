"""Makes Beam inspect each class of DoFns once in a process.

While it builds, translates and starts a pipeline, Beam asks about eight times per DoFn which user state and timers it
has, and reads the signatures of all its methods each time: 45 % of a step of few pages. The answer depends on the
class only.
"""

from collections.abc import Callable
from types import MethodType
from typing import Any

from apache_beam.transforms import userstate

Specs = tuple[set[userstate.StateSpec], set[userstate.TimerSpec]]


def by_class(inspect: Callable[[Any], Specs]) -> Callable[[Any], Specs]:
    """The same function of a DoFn, computed once per class.

    Not for a DoFn with a bound method as an attribute, as `beam.Map` of a method makes one: its state is that method's.
    """
    known: dict[type, Specs] = {}

    def specs(dofn: Any) -> Specs:
        if any(isinstance(value, MethodType) for value in vars(dofn).values()):
            return inspect(dofn)
        kind = type(dofn)
        if kind not in known:
            known[kind] = inspect(dofn)
        return known[kind]

    return specs


def inspect_classes_once() -> None:
    """Install the function above in Beam, in this process."""
    if not hasattr(userstate.get_dofn_specs, "is_by_class"):
        userstate.get_dofn_specs = by_class(userstate.get_dofn_specs)
        userstate.get_dofn_specs.is_by_class = True
