"""The fetch step of a round: the frontier in; visits, robots.txt files and the hosts' turns out."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

from ..transforms.batches.semi_join import CollectHosts
from ..transforms.directory.pieces import Leftovers
from ..transforms.directory.waiting import Waiting
from ..transforms.frontier.read_due import Bounds, ReadDue
from ..transforms.politeness.adopted import state_rows, visited_keys
from ..transforms.politeness.backoff import STATE_COLUMNS, host_state, settled, shared_rest, without_refusal
from ..transforms.politeness.context import VisitContext
from ..transforms.politeness.visit_hosts import VisitHosts
from ..transforms.robots.lookup import LAST_GOOD
from ..transforms.robots.rules import Verdict
from ..transforms.settings import Politeness
from ..transforms.tables.key_scan import Wanted, matching_rows
from ..transforms.tables.schemas import HOSTS, ROBOTS, TIME, TRAP_QUEUES, TRAP_SAMPLES, TRAPS, HostRow
from ..transforms.tables.table_files import read_table
from ..transforms.urls.canonical import domain


@dataclasses.dataclass(frozen=True)
class FetchStep:
    """The inputs and outputs of one fetch step."""

    root: str
    context: VisitContext
    waiting: Waiting
    robots: Sequence[str]  # paths of robots files of earlier rounds
    hosts: Sequence[str]  # and of hosts files
    traps: Sequence[str]  # and of trap_samples and trap_queues files
    held: Mapping[str, datetime]  # hosts that may not be requested yet, and until when
    bounds: Bounds  # on the frontier rows that are read
    leftovers: Leftovers  # of earlier attempts
    with_external: bool = False  # external targets may wait
    other_rounds: Collection[int] = ()  # with other settings than this one
    seen_since: datetime | None = None  # `backoff.settled`; None: now


def build(pipeline: beam.Pipeline, step: FetchStep) -> None:
    """Read, group by domain, fetch from each host, write; bodies are written in the bundle that fetched them."""
    due = (
        pipeline
        | "FrontierFiles" >> beam.Create(step.waiting.frontier)
        | "ReadFrontier" >> ReadDue(step.root, step.waiting.left, step.bounds, step.with_external)
    )
    due_hosts = beam.pvalue.AsSingleton(due | "DueHosts" >> beam.Keys() | "CollectDueHosts" >> CollectHosts())
    read = beam.FlatMap(
        _read_earlier,
        due_hosts,
        step.root,
        step.context.politeness,
        step.bounds.now,
        step.other_rounds,
        step.seen_since,
    )
    earlier = pipeline | "Sources" >> beam.Create(_sources(step)) | "ReadEarlier" >> read.with_outputs(*_EARLIER)
    held = pipeline | "Held" >> beam.Create([dict(step.held)])
    (
        {"due": due | "DueByDomain" >> beam.MapTuple(by_domain), **{tag: earlier[tag] for tag in _EARLIER}}
        | "ByDomain" >> beam.CoGroupByKey()
        | "VisitHosts" >> VisitHosts(step.context, held)
    )


def _sources(step: FetchStep) -> list[tuple[str, Any]]:
    """Return what `known_rows` reads."""
    paths = {
        "robots": [*step.robots, *step.leftovers.paths("robots")],
        "hosts": step.hosts,
        "resting": step.hosts if step.context.politeness.scope != "host" else (),
        "traps": step.traps,
        "visited": step.leftovers.paths("visits"),
    }
    return [("states", step.leftovers), *((kind, path) for kind, some in paths.items() for path in some)]


def _read_earlier(source: tuple[str, Any], *given: Any) -> Iterator[Any]:
    for host, row in known_rows(source, *given):
        yield beam.pvalue.TaggedOutput(_TAGS.get(source[0], source[0]), by_domain(host, row))


def known_rows(
    source: tuple[str, Any],
    hosts: Wanted,
    root: str,
    politeness: Politeness,
    now: datetime,
    other_rounds: Collection[int],
    seen_since: datetime | None = None,
) -> Iterator[tuple[str, Any]]:
    """Yield (host, row) from a source of what is known of hosts, which is a pair of a kind and a path.

    The kind `states` has the leftovers of earlier attempts in place of a path. A refusal in `other_rounds` does not
    count (`backoff.without_refusal`).
    """
    kind, given = source

    def state(row: HostRow) -> HostRow:
        return without_refusal(settled(row, now, seen_since or now), other_rounds)

    match kind:
        case "robots":
            yield from known_robots_rows(given, root, hosts, now)
        case "hosts":
            yield from ((host, state(row)) for host, row in known_hosts(given, root, hosts))
        case "resting":
            yield from ((host, state(row)) for host, row in resting_hosts(given, root, politeness, now))
        case "states":
            yield from ((row["host"], settled(row, now, seen_since or now)) for row in state_rows(root, given))
        case "traps":
            yield from known_traps(given, root, hosts)
        case "visited":
            yield from visited_keys(given, root)


def known_robots_rows(path: str, root: str, hosts: Wanted, now: datetime) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a robots file that may still be valid, by host; not those of an unreachable robots.txt."""
    for rows in matching_rows(root, path, ROBOTS, hosts):
        valid = pc.greater(rows["fetched_at"], pa.scalar(now.astimezone(UTC) - LAST_GOOD, TIME))
        answered = pc.not_equal(rows["verdict"], Verdict.UNREACHABLE.value)
        yield from ((row["host"], row) for row in rows.filter(pc.and_(valid, answered)).to_pylist())


def known_hosts(path: str, root: str, hosts: Wanted) -> Iterator[tuple[str, HostRow]]:
    """Yield the backoff columns of the rows of a hosts file, by host."""
    for rows in matching_rows(root, path, HOSTS, hosts, STATE_COLUMNS):
        yield from ((row["host"], row) for row in rows.to_pylist())


def resting_hosts(path: str, root: str, politeness: Politeness, now: datetime) -> Iterator[tuple[str, HostRow]]:
    """Yield the same for hosts after whose last response a shared queue is not due yet."""
    rows = read_table(root, [path], HOSTS, STATE_COLUMNS)
    for row in rows.filter(pc.is_valid(rows["last_fetched_at"])).to_pylist():
        if row["last_fetched_at"] + timedelta(seconds=shared_rest(host_state(row), politeness)) > now:
            yield row["host"], row


def known_traps(path: str, root: str, hosts: Wanted) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the columns of a file of traps, trap_samples or trap_queues that limit the visits of a host, by host."""
    schema, columns = _LIMITING[path.partition("/")[0]]
    for rows in matching_rows(root, path, schema, hosts, columns):
        yield from ((row["host"], row) for row in rows.to_pylist() if row.get("forms") != b"")


_JUDGED = [
    *("host", "template", "kind", "round", "state", "first", "pages", "news", "fresh", "different", "failed"),
    *("redirected", "reached", "budget", "unresolved", "recent_pages", "recent_fresh", "waiting", "requested"),
]
_QUEUED = ["host", "template", "kind", "round", "waiting", "held"]
_LIMITING = {
    "traps": (TRAPS, _JUDGED),
    "trap_samples": (TRAP_SAMPLES, ["host", "forms"]),
    "trap_queues": (TRAP_QUEUES, _QUEUED),
}

_EARLIER = ("robots", "hosts", "traps", "visited")
_TAGS = {"resting": "hosts", "states": "hosts"}
"""The tag of the rows of a kind, if it is not the kind."""


def by_domain(host: str, row: Any) -> tuple[str, tuple[str, Any]]:
    """Return (domain of the host, (host, row))."""
    return domain(host), (host, row)
