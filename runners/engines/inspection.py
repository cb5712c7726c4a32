"""Makes Beam inspect each class of DoFns, and each function, once in a process.

While it builds, translates and starts a pipeline, Beam asks about eight times per DoFn which user state and timers it
has, and reads signatures, type hints and the source text of the same functions a thousand times. The answers depend on
the class or the function only. Three times for each ParDo, it pickles and unpickles what it was given, to tell whether
another process could: here, either the FnApiRunner pickles it again, or nobody does.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from apache_beam import pipeline
from apache_beam.internal import pickler
from apache_beam.transforms import core, ptransform, userstate
from apache_beam.typehints import decorators
from apache_beam.utils import interactive_utils

Specs = tuple[set[userstate.StateSpec], set[userstate.TimerSpec]]
Answer = TypeVar("Answer")


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


def by_function(inspect: Callable[[Any], Answer]) -> Callable[[Any], Answer]:
    """The same function of a callable, computed once per function; of bound methods, once per function of a class.

    Not for other callables, such as classes and `functools.partial`.
    """
    of_functions: WeakKeyDictionary[FunctionType, Answer] = WeakKeyDictionary()
    of_methods: WeakKeyDictionary[Any, Answer] = WeakKeyDictionary()

    def answer(function: Any) -> Answer:
        if isinstance(function, FunctionType):
            known, key = of_functions, function
        elif isinstance(function, MethodType) and isinstance(function.__func__, FunctionType):
            known, key = of_methods, function.__func__
        else:
            return inspect(function)
        if key not in known:
            known[key] = inspect(function)
        return known[key]

    return answer


class _Change(NamedTuple):
    owner: ModuleType | type
    name: str
    instead: Any
    original: Any


def _once(owner: ModuleType, name: str, once: Callable[[Callable[[Any], Any]], Any] = by_function) -> _Change:
    original = getattr(owner, name)
    return _Change(owner, name, once(original), original)


_Hints = decorators.IOTypeHints
_signature = _once(decorators, "get_signature")
_CHANGES = (
    _once(userstate, "get_dofn_specs", by_class),
    _once(core, "_check_fn_use_yield_and_return"),
    _once(core, "get_function_args_defaults"),
    # Beam pickles and unpickles all to see whether it can be,
    _Change(pickler, "roundtrip", lambda given: given, pickler.roundtrip),
    _signature,
    *(_signature._replace(owner=importer) for importer in (core, ptransform)),
    _Change(_Hints, "from_callable", staticmethod(by_function(_Hints.from_callable)), vars(_Hints)["from_callable"]),
    # formats a stack for the messages of checks that `direct` turns off,
    _Change(_Hints, "_make_origin", staticmethod(lambda *_, **__: []), vars(_Hints)["_make_origin"]),
    # and imports IPython, where it is installed, for labels that have the cell of a notebook.
    *(_Change(each, "is_in_ipython", lambda: False, each.is_in_ipython) for each in (pipeline, interactive_utils)),
)
_lock, _users = threading.Lock(), 0


@contextmanager
def inspected_once() -> Iterator[None]:
    """Let Beam use these functions while any thread of the process is in here; nothing is changed afterwards."""
    global _users  # noqa: PLW0603 - what it counts is global, too
    with _lock:
        _users += 1
        for change in _CHANGES:
            setattr(change.owner, change.name, change.instead)
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                for change in _CHANGES:
                    setattr(change.owner, change.name, change.original)
