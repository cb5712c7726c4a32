"""Functions of stages: they declare the sides that they take and the outputs that they yield."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from apache_beam.pvalue import TaggedOutput

from ..tables.batches import from_ipc, split, split_by, to_ipc
from ..tables.table_files import TableFile

Content = Any
"""What the batches of an output or a side hold: rows of a `pa.Schema`, as Arrow IPC, or values of a Python type."""

Sides = Mapping[str, Iterable[Any]]
"""The data that a function received in one partition, by the name of the side."""

Partition = tuple[int, Sides]
"""What a function of an exchange processes: the number of the partition, and its sides."""


@dataclasses.dataclass(eq=False)
class _Declared:
    """An attribute of a function's class; its name is that of the attribute."""

    content: Content
    name: str = dataclasses.field(default="", init=False)
    owner: str = dataclasses.field(default="", init=False)

    def __set_name__(self, owner: type, name: str) -> None:
        if not self.name:
            self.owner, self.name = owner.__name__, name

    def __str__(self) -> str:
        return f"{self.owner}.{self.name}"


@dataclasses.dataclass(eq=False)
class Side(_Declared):
    """Data that a function takes from an exchange; with `in_one_place`, that of all partitions in one."""

    in_one_place: bool = False

    def batches(self, sides: Sides) -> Iterable[Any]:
        """The batches of a partition, of which there may be none."""
        return sides.get(self.name, ())

    def table(self, sides: Sides) -> pa.Table:
        """The rows of a partition."""
        return from_ipc(self.batches(sides), self.content)

    def values(self, sides: Sides) -> list[Any]:
        """The values of a partition: the batches of such a side are collections."""
        return [value for some in self.batches(sides) for value in some]


@dataclasses.dataclass(eq=False)
class Output(_Declared):
    """Batches that a function yields; rows are split into partitions of the key space by column `key`."""

    key: str = ""

    def __post_init__(self) -> None:
        if self.key and self.key not in self.content.names:
            raise ValueError(f"no column {self.key!r} to split an output by, only {', '.join(self.content.names)}")

    def at(self, number: int, data: Any) -> TaggedOutput:
        """A batch of one partition: a table, or a value."""
        return TaggedOutput(self.name, (number, to_ipc(data) if isinstance(data, pa.Table) else data))

    def once(self, data: Any) -> TaggedOutput:
        """A batch for a reader that has only one partition, or none."""
        return self.at(0, data)

    def if_any(self, data: Any) -> Iterator[TaggedOutput]:
        """As `once`; nothing for None and empty collections."""
        if data:
            yield self.once(data)

    def each(self, batches: Iterable[tuple[int, Any]]) -> Iterator[TaggedOutput]:
        """Batches: (partition, data)."""
        for number, data in batches:
            yield self.at(number, data)

    def split(self, rows: pa.Table, count: int) -> Iterator[TaggedOutput]:
        """The rows by partition of the key, of so many."""
        return self.each(split(rows, self.key, count))

    def split_by(self, rows: pa.Table, numbers: Iterable[int]) -> Iterator[TaggedOutput]:
        """The rows by their numbers."""
        return self.each(split_by(rows, numbers))


class StageFn:
    """A function of a stage; the Sides and Outputs among the attributes of its class are what it takes and yields.

    Stages call it as Beam calls a DoFn. It is none, because to mypy a class of Beam has every attribute, even mistyped.
    """

    process: Callable[..., Iterable[TaggedOutput] | None]

    def setup(self) -> None:
        """Prepare a worker."""

    @classmethod
    def sides(cls) -> list[Side]:
        """The sides that it takes."""
        return [each for each in _attributes(cls) if isinstance(each, Side)]

    @classmethod
    def outputs(cls) -> list[Output]:
        """The outputs that it yields."""
        return [each for each in _attributes(cls) if isinstance(each, Output)]


class WriteFn(StageFn):
    """A function that writes files."""

    files = Output(TableFile)
    """For the report of the step."""


def _attributes(cls: type) -> Iterable[Any]:
    attributes: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        attributes |= vars(base)
    return attributes.values()
