"""Makes Beam inspect each class of DoFns once in a process.

While it builds, translates and starts a pipeline, Beam asks about eight times per DoFn which user state and timers it
has, and reads the signatures of all its methods each time: 45 % of a step of few pages. The answer depends on the
class only.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


_lock, _users, _original = threading.Lock(), 0, userstate.get_dofn_specs
_inspect_once = by_class(_original)


@contextmanager
def classes_inspected_once() -> Iterator[None]:
    """Let Beam use the function above while any thread of the process is in here; nothing is changed afterwards."""
    global _users  # noqa: PLW0603 - what it counts is global, too
    with _lock:
        _users += 1
        userstate.get_dofn_specs = _inspect_once
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                userstate.get_dofn_specs = _original
