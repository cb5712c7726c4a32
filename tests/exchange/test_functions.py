"""What functions of stages yield by their outputs, and read by their sides."""

from typing import Any

import pyarrow as pa
import pytest

from beamtrawl.transforms.exchange.functions import Output, Side, WriteFn
from beamtrawl.transforms.exchange.stages import PartRoute, Route, SideRoute
from beamtrawl.transforms.tables.batches import from_ipc
from beamtrawl.transforms.tables.bloom import partitions
from beamtrawl.transforms.tables.schemas import KEY
from beamtrawl.transforms.urls.canonical import url_key
from tests.support.outputs import outputs

ROWS = pa.schema([("url_key", KEY), ("url", pa.string())])
TABLE = pa.table({"url_key": [url_key(url) for url in "abc"], "url": list("abc")}, schema=ROWS)


class CopyFn(WriteFn):
    """Takes and yields rows and names."""

    taken, names = Side(ROWS), Side(list[str])
    rows, found = Output(ROWS, key="url_key"), Output(list[str])


class NarrowFn(CopyFn):
    """Yields rows of other columns."""

    rows = Output(pa.schema([("host", pa.string())]))


def test_a_function_has_what_its_class_and_the_classes_above_declare() -> None:
    assert [side.name for side in CopyFn.sides()] == ["taken", "names"]
    assert {output.name for output in CopyFn.outputs()} == {"files", "rows", "found"}
    assert NarrowFn.rows in NarrowFn.outputs()
    assert CopyFn.rows not in NarrowFn.outputs()
    assert [str(CopyFn.taken), str(CopyFn.files)] == ["CopyFn.taken", "WriteFn.files"]


# what is yielded, (partition, data) of each batch
YIELDED = {
    "a value": ([CopyFn.found.at(3, ["a"])], [(3, ["a"])]),
    "a value for one place": ([CopyFn.found.once(None)], [(0, None)]),
    "values that there are": (CopyFn.found.if_any(["a"]), [(0, ["a"])]),
    "no values": (CopyFn.found.if_any([]), []),
    "batches": (CopyFn.found.each([(1, ["a"]), (2, ["b"])]), [(1, ["a"]), (2, ["b"])]),
}


@pytest.mark.parametrize(("yielded", "batches"), YIELDED.values(), ids=YIELDED)
def test_batches_are_yielded_under_the_name_of_the_output(yielded: Any, batches: list[Any]) -> None:
    assert outputs(yielded).get("found", []) == batches


def test_rows_are_split_by_the_key_or_by_numbers() -> None:
    found = outputs([*CopyFn.rows.split(TABLE, 2), *NarrowFn.rows.split_by(TABLE, [7, 7, 9])])["rows"]
    urls = [(number, from_ipc([data], ROWS)["url"].to_pylist()) for number, data in found]
    by_key: dict[int, list[str]] = {}
    for number, url in zip(partitions(TABLE["url_key"], 2), ["a", "b", "c"], strict=True):
        by_key.setdefault(int(number), []).append(url)
    assert urls == [*by_key.items(), (7, ["a", "b"]), (9, ["c"])]


def test_a_side_is_read_as_a_table_or_as_values_and_may_be_empty() -> None:
    (batch,) = outputs([CopyFn.rows.at(0, TABLE)])["rows"]
    sides = {"taken": [batch[1], batch[1]], "names": [["a"], [], ["b", "c"]]}
    assert CopyFn.taken.table(sides).to_pylist() == TABLE.to_pylist() * 2
    assert CopyFn.names.values(sides) == ["a", "b", "c"]
    assert (CopyFn.taken.table({}).num_rows, CopyFn.names.values({})) == (0, [])


# a route, the element that it sends for data of partition 7
SENT = [
    (SideRoute("by_url", None, "CopyFn", "taken", False), (("CopyFn", 7), ("taken", b"rows"))),
    (SideRoute("by_url", None, "CopyFn", "taken", True), (("CopyFn", 0), ("taken", b"rows"))),
    (
        SideRoute("by_url", lambda batch: [(batch[0] + 1, b"")], "CopyFn", "taken", False),
        (("CopyFn", 8), ("taken", b"")),
    ),
    (PartRoute("keys", None, "urls"), ("urls", b"rows")),
    (Route("urls", None), b"rows"),
]


@pytest.mark.parametrize(("route", "element"), SENT)
def test_a_route_sends_an_element_of_its_destination(route: Route, element: Any) -> None:
    assert [(sent.tag, sent.value) for sent in route((7, b"rows"))] == [(route.destination, element)]
