"""What Beam finds when it inspects DoFns is the same with and without the memory of it."""

from typing import Any

import apache_beam as beam
import pytest
from apache_beam.coders import StrUtf8Coder
from apache_beam.transforms import userstate
from apache_beam.transforms.core import CallableWrapperDoFn

from beamtrawl.runners.engines.inspection import by_class, classes_inspected_once

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


def test_nothing_of_beam_is_changed_afterwards() -> None:
    before = userstate.get_dofn_specs
    with classes_inspected_once():
        with classes_inspected_once():
            pass
        assert userstate.get_dofn_specs is not before
        assert userstate.get_dofn_specs(Stateful()) == ({STATE}, {TIMER})
    assert userstate.get_dofn_specs is before
