"""What Beam finds when it inspects DoFns and functions is the same with and without the memory of it."""

import functools
from collections.abc import Callable
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.coders import StrUtf8Coder
from apache_beam.internal import pickler
from apache_beam.transforms import core, userstate
from apache_beam.transforms.core import CallableWrapperDoFn
from apache_beam.typehints.decorators import IOTypeHints, get_signature
from apache_beam.utils import interactive_utils

from beamtrawl.runners.engines.inspection import by_class, by_function, inspected_once

STATE = userstate.BagStateSpec("names", StrUtf8Coder())
TIMER = userstate.TimerSpec("end", userstate.TimeDomain.WATERMARK)
NAMES, END = beam.DoFn.StateParam(STATE), beam.DoFn.TimerParam(TIMER)


class Plain(beam.DoFn):
    def process(self, element: Any) -> None:
        pass


class Stateful(beam.DoFn):
    def process(self, element: Any, names: Any = NAMES) -> None:
        pass

    @userstate.on_timer(TIMER)
    def end(self) -> None:
        pass

    def start_bundle(self, timer: Any = END) -> None:
        pass


class Holder:
    def plain(self, element: Any) -> None:
        pass

    def stateful(self, element: Any, names: Any = NAMES) -> None:
        pass


DOFNS = {
    "without state": (Plain, (set(), set())),
    "with state and a timer": (Stateful, ({STATE}, {TIMER})),
    "a function": (lambda: CallableWrapperDoFn(len), (set(), set())),
    "a method": (lambda: CallableWrapperDoFn(Holder().plain), (set(), set())),
    "a method with state": (lambda: CallableWrapperDoFn(Holder().stateful), ({STATE}, set())),
}


@pytest.mark.parametrize("first", DOFNS)
def test_the_state_of_a_dofn_does_not_depend_on_what_was_inspected_before(first: str) -> None:
    inspect = by_class(userstate.get_dofn_specs)
    inspect(DOFNS[first][0]())
    assert {name: inspect(make()) for name, (make, _) in DOFNS.items()} == {
        name: specs for name, (_, specs) in DOFNS.items()
    }


def test_a_class_is_inspected_once() -> None:
    inspected = []
    inspect = by_class(lambda dofn: (inspected.append(dofn), (set(), set()))[1])
    for _ in range(3):
        inspect(Plain())
        inspect(Stateful())
    assert [type(dofn) for dofn in inspected] == [Plain, Stateful]


class Adder:
    def add(self, one: int, other: int = 1) -> int:
        return one + other


class Subtracter(Adder):
    def add(self, one: int, other: int = 2) -> int:
        return one - other


def greet(name: str) -> str:
    return name


FUNCTIONS: dict[str, Callable[[], Any]] = {
    "a function": lambda: greet,
    "a function of a class": lambda: Adder.add,
    "a method": lambda: Adder().add,
    "a method that replaces another": lambda: Subtracter().add,
    "a class": lambda: str,
    "a part": lambda: functools.partial(Adder().add, 3),
    "a lambda": lambda: lambda one: one,
    "a lambda with a default": lambda: lambda one, other=3: one,
    "a builtin function": lambda: len,
    "an unbound method of a builtin class": lambda: str.strip,
}


@pytest.mark.parametrize("first", FUNCTIONS)
def test_the_signature_of_a_function_does_not_depend_on_what_was_inspected_before(first: str) -> None:
    signature, hints = by_function(get_signature), by_function(IOTypeHints.from_callable)
    signature(FUNCTIONS[first]()), hints(FUNCTIONS[first]())
    for make in FUNCTIONS.values():
        function = make()
        assert signature(function) == get_signature(function)
        assert hints(function) == IOTypeHints.from_callable(function)


def test_a_function_is_inspected_once() -> None:
    inspected = []
    inspect = by_function(inspected.append)
    for _ in range(3):
        inspect(greet)
        inspect(Adder.add)
        inspect(Adder().add)
        inspect(str)
    assert [getattr(each, "__qualname__", "") for each in inspected] == [
        "greet",
        "Adder.add",
        "Adder.add",
        *["str"] * 3,
    ]


def test_nothing_of_beam_is_changed_afterwards() -> None:
    def parts() -> list[Any]:
        hints = vars(IOTypeHints)
        return [
            userstate.get_dofn_specs,
            core.get_signature,
            core._check_fn_use_yield_and_return,
            core.get_function_args_defaults,
            pickler.roundtrip,
            beam.pipeline.is_in_ipython,
            interactive_utils.is_in_ipython,
            *(hints[name] for name in ("from_callable", "_make_origin")),
        ]

    before = parts()
    with inspected_once():
        with inspected_once():
            pass
        assert all(now is not then for now, then in zip(parts(), before, strict=True))
        assert userstate.get_dofn_specs(Stateful()) == ({STATE}, {TIMER})
    assert parts() == before
