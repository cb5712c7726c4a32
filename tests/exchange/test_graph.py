"""A stage sends nothing that no stage reads: mistakes are refused when the graph is built, or at the first element."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pytest
from apache_beam.pvalue import TaggedOutput

from beamtrawl.pipeline import update
from beamtrawl.transforms.aliases.learned_rules import KnownRules
from beamtrawl.transforms.aliases.rules import Rule
from beamtrawl.transforms.exchange.functions import Output, Partition, Side, StageFn
from beamtrawl.transforms.exchange.graph import DROPPED, Converted, Graph, Source, Target
from beamtrawl.transforms.exchange.semi_join import CollectSetFn
from beamtrawl.transforms.exchange.stages import DispatchFn, Route
from beamtrawl.transforms.exchange.summaries import found
from beamtrawl.transforms.frontier.revisit_plan import Plan
from beamtrawl.transforms.settings import Priority, Recrawl, Sitemaps
from tests.support.graph import update_step

ROWS = pa.schema([("url", pa.string()), ("depth", pa.int32())])
OTHER = pa.schema([("host", pa.string())])


class SendFn(StageFn):
    """Yields rows, and hosts."""

    rows, hosts = Output(ROWS, key="url"), Output(list[str])

    def process(self, _: Any) -> Iterator[TaggedOutput]:
        yield from self.rows.split(pa.table({"url": ["a", "b"], "depth": [1, 2]}, schema=ROWS), 1)
        yield from self.hosts.if_any(["a.test"])


class TakeFn(StageFn):
    """Takes rows; yields their URLs."""

    rows, others = Side(ROWS), Side(OTHER)
    urls = Output(list[str])

    def process(self, partition: Partition, *_: Any) -> Iterator[TaggedOutput]:
        yield self.urls.once(self.rows.table(partition[1])["url"].to_pylist())


class StrayFn(StageFn):
    """Is in no exchange."""

    rows = Side(ROWS)


class OneSideFn(StageFn):
    rows = Side(ROWS)


Build = Callable[[Graph, Source], None]


def exchanged(
    graph: Graph,
    source: Source,
    rows: list[Target] | None = None,
    dropped: dict[Output, Any] | None = None,
    kind: str = "file",
    more: dict[Output, list[Target]] | None = None,
) -> None:
    """A stage sends rows to another, which yields lists of URLs."""
    exchange, urls = graph.exchange("by_url", TakeFn()), graph.elements("urls")
    others = Converted(lambda batch: [batch], TakeFn.others)
    routing = {SendFn.rows: [TakeFn.rows, others] if rows is None else rows}
    graph.read("Send", source, {kind: SendFn()}, routing | ({SendFn.hosts: DROPPED} if dropped is None else dropped))
    graph.receive("Take", exchange, {TakeFn.urls: [urls], **(more or {})})
    urls.read()


def unread(graph: Graph, source: Source) -> None:
    graph.exchange("by_url", OneSideFn())
    graph.read("Send", source, {"file": SendFn()}, {SendFn.rows: [OneSideFn.rows], SendFn.hosts: DROPPED})


def not_sent(graph: Graph, source: Source) -> None:
    graph.elements("urls").read()


def too_late(graph: Graph, source: Source) -> None:
    hosts = graph.elements("hosts")
    routing = {SendFn.rows: DROPPED, SendFn.hosts: [hosts]}
    graph.read("Send", source, {"file": SendFn()}, routing)
    hosts.read()
    graph.read("SendMore", source, {"file": SendFn()}, routing)


def no_part(graph: Graph, source: Source) -> None:
    graph.summary("keys", hosts=CollectSetFn())["host"]


def twice(graph: Graph, source: Source) -> None:
    graph.exchange("by_url", TakeFn())
    graph.exchange("by_host", TakeFn())


def same_name(graph: Graph, source: Source) -> None:
    graph.elements("urls")
    graph.elements("urls")


# the graph, what its author reads
REFUSED: dict[str, tuple[Build, str]] = {
    "an output without a route": (
        partial(exchanged, dropped={}),
        "Send has no route for SendFn.hosts; DROPPED drops it",
    ),
    "a route of an output that nobody yields": (
        partial(exchanged, dropped={SendFn.hosts: DROPPED, TakeFn.urls: DROPPED}),
        "Send has a route for TakeFn.urls, which none of its functions yields",
    ),
    "a function that no exchange has": (
        partial(exchanged, rows=[StrayFn.rows]),
        "Send sends SendFn.rows to StrayFn.rows, but no exchange has a function that takes it",
    ),
    "a side of other columns": (
        partial(exchanged, rows=[TakeFn.rows, TakeFn.others]),
        "Send sends SendFn.rows to TakeFn.others, which has other columns or another type",
    ),
    "a side that nobody sends": (partial(exchanged, rows=[TakeFn.rows]), "no stage sends to TakeFn.others"),
    "a kind that the source has not": (partial(exchanged, kind="flie"), "Send reads 'flie', which is none of file"),
    "an exchange that nobody reads": (unread, "no stage reads by_url, to which Send sends"),
    "elements that nobody sends": (not_sent, "no stage sends to urls"),
    "elements sent when they are read": (too_late, "SendMore sends to hosts, which an earlier stage reads"),
    "a part that a summary has not": (no_part, "summary keys has no part 'host', only hosts"),
    "a function in two exchanges": (twice, "two functions take TakeFn.rows"),
    "a name of two destinations": (same_name, "two destinations are named urls"),
}


@pytest.mark.parametrize(("build", "message"), REFUSED.values(), ids=REFUSED)
def test_what_would_lose_rows_is_refused_when_the_graph_is_built(build: Build, message: str) -> None:
    pipeline = beam.Pipeline()
    source = Source(pipeline | beam.Create([("file", "path")]), ["file"])
    with pytest.raises(ValueError, match=rf"^{message}$"), Graph() as graph:
        build(graph, source)


def fail(graph: Graph) -> None:
    graph.elements("unread")
    raise KeyError


def test_a_graph_without_mistakes_is_built_and_an_error_in_it_is_not_hidden() -> None:
    pipeline = beam.Pipeline()
    source = Source(pipeline | beam.Create([("file", "path")]), ["file"])
    with Graph() as graph:
        exchanged(graph, source)
    with pytest.raises(KeyError), Graph() as graph:
        fail(graph)


def test_a_key_is_a_column() -> None:
    with pytest.raises(ValueError, match="no column 'ulr' to split an output by, only url, depth"):
        Output(ROWS, key="ulr")


class UndeclaredFn(StageFn):
    """Yields what it is told to."""

    rows = Output(ROWS)

    def process(self, output: Any) -> Iterator[Any]:
        yield output


# what a function yields, or a kind; what is raised
LATE = {
    "an output that is not declared": (
        ("kind", SendFn.hosts.once(["a.test"])),
        "Stage: UndeclaredFn yields output 'hosts'; it declares rows",
    ),
    "a value without an output": (
        ("kind", (0, b"rows")),
        "Stage: UndeclaredFn yields a tuple without an output; it declares rows",
    ),
    "an element of a kind that nobody names": (("knid", None), "Stage: no function for elements of kind 'knid'"),
}


@pytest.mark.parametrize(("element", "message"), LATE.values(), ids=LATE)
def test_what_only_a_worker_knows_fails_at_the_first_element(element: tuple[str, Any], message: str) -> None:
    dispatch = DispatchFn("Stage", {"kind": UndeclaredFn()}, {"kind": {"rows": (Route("out", None),)}}, ["other"])
    assert list(dispatch.process(("other", None))) == []
    (sent,) = dispatch.process(("kind", UndeclaredFn.rows.at(3, b"rows")))
    assert (sent.tag, sent.value) == ("out", b"rows")
    with pytest.raises(ValueError, match=rf"^{message}$"):
        list(dispatch.process(element))


def test_a_part_is_of_one_of_the_summaries() -> None:
    assert [found(part, {"hosts": ["a"]}, {"keys": None}) for part in ("hosts", "keys")] == [["a"], None]
    with pytest.raises(ValueError, match=r"^no summary has part 'host', only hosts, keys$"):
        found("host", {"hosts": ["a"]}, {"keys": None})


RULE = Rule("https://a.test", "trailing_slash", "")
USED = KnownRules.of([RULE._asdict() | {"template": "/*", "state": "used", "round": 1}])
PLAN = Plan.of(Recrawl(per_day=100), Sitemaps(), Priority(), {}, 1)


@pytest.mark.parametrize(
    "changes",
    [{}, {"aliases": None}, {"aliases": USED}, {"plan": PLAN}],
    ids=["no rule in use", "no alias detection", "rules in use", "revisits"],
)
def test_all_kinds_of_update_steps_are_built(changes: dict[str, Any]) -> None:
    update.build(beam.Pipeline(), update_step(**changes))
