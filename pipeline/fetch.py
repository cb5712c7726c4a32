"""The fetch step of a round: the frontier in; visits, robots.txt files and the hosts' turns out."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

from ..transforms import urls
from ..transforms.frontier.read_due import Bounds, ReadDue
from ..transforms.politeness.adopted import state_rows, visited_keys
from ..transforms.politeness.backoff import STATE_COLUMNS, host_state, shared_rest
from ..transforms.politeness.context import VisitContext
from ..transforms.politeness.visit_hosts import VisitHosts
from ..transforms.robots.lookup import LAST_GOOD
from ..transforms.robots.rules import Verdict
from ..transforms.settings import Politeness
from ..transforms.storage.key_scan import Wanted, matching_rows
from ..transforms.storage.pieces import Leftovers
from ..transforms.storage.schemas import HOSTS, ROBOTS, TIME, TRAP_SAMPLES, TRAPS, HostRow
from ..transforms.storage.semi_join import CollectHosts
from ..transforms.storage.table_files import read_table
from ..transforms.storage.waiting import Waiting


@dataclasses.dataclass(frozen=True)
class FetchStep:
    """The inputs and outputs of one fetch step."""

    root: str
    context: VisitContext
    waiting: Waiting
    robots: Sequence[str]  # paths of robots files of earlier rounds
    hosts: Sequence[str]  # and of hosts files
    traps: Sequence[str]  # and of traps and trap_samples files
    held: Mapping[str, datetime]  # hosts that may not be requested yet, and until when
    bounds: Bounds  # on the frontier rows that are read
    leftovers: Leftovers  # of earlier attempts


def known_robots_rows(path: str, root: str, hosts: Wanted, now: datetime) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a robots file that may still be valid, by host; not those of an unreachable robots.txt."""
    for rows in matching_rows(root, path, ROBOTS, hosts):
        valid = pc.greater(rows["fetched_at"], pa.scalar(now.astimezone(UTC) - LAST_GOOD, TIME))
        answered = pc.not_equal(rows["verdict"], Verdict.UNREACHABLE.value)
        yield from ((row["host"], row) for row in rows.filter(pc.and_(valid, answered)).to_pylist())


def known_hosts(path: str, root: str, hosts: Wanted) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the backoff columns of the rows of a hosts file, by host."""
    for rows in matching_rows(root, path, HOSTS, hosts, STATE_COLUMNS):
        yield from ((row["host"], row) for row in rows.to_pylist())


def resting_hosts(path: str, root: str, politeness: Politeness, now: datetime) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the same for hosts after whose last response a shared queue is not due yet."""
    rows = read_table(root, [path], HOSTS, list(STATE_COLUMNS))
    known = rows.filter(pc.is_valid(rows["last_fetched_at"])).to_pylist()
    for row in known:
        if row["last_fetched_at"] + timedelta(seconds=shared_rest(host_state(row), politeness)) > now:
            yield row["host"], row


def known_traps(path: str, root: str, hosts: Wanted) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the columns of a traps or trap_samples file that limit the visits of a host, by host."""
    table, columns = (TRAPS, _JUDGED) if path.startswith("traps/") else (TRAP_SAMPLES, ["host", "forms"])
    for rows in matching_rows(root, path, table, hosts, columns):
        yield from ((row["host"], row) for row in rows.to_pylist() if row.get("forms") != b"")


_JUDGED = [
    "host",
    "template",
    "kind",
    "round",
    "state",
    "first",
    "pages",
    "news",
    "fresh",
    "failed",
    "redirected",
    "budget",
]


def _adopted_hosts(leftovers: Leftovers, root: str) -> Iterator[tuple[str, HostRow]]:
    for row in state_rows(root, leftovers):
        yield row["host"], row


def _by_domain(host: str, row: Any) -> tuple[str, tuple[str, Any]]:
    return urls.domain(host), (host, row)


def build(pipeline: beam.Pipeline, step: FetchStep) -> None:
    """Read, group by domain, fetch from each host, write; bodies are written in the bundle that fetched them."""
    now = step.bounds.now
    due = (
        pipeline
        | "FrontierFiles" >> beam.Create(step.waiting.frontier)
        | "ReadFrontier" >> ReadDue(step.root, step.waiting.left, step.bounds)
    )
    due_hosts = beam.pvalue.AsSingleton(due | "DueHosts" >> beam.Keys() | "CollectDueHosts" >> CollectHosts())
    robots = (
        pipeline
        | "RobotsFiles" >> beam.Create([*step.robots, *step.leftovers.paths("robots")])
        | "ReadRobots" >> beam.FlatMap(known_robots_rows, step.root, due_hosts, now)
    )
    hosts_files = pipeline | "HostsFiles" >> beam.Create(step.hosts)
    earlier_hosts = hosts_files | "ReadHosts" >> beam.FlatMap(known_hosts, step.root, due_hosts)
    if step.context.politeness.scope != "host":
        politeness = step.context.politeness
        resting = hosts_files | "RestingHosts" >> beam.FlatMap(resting_hosts, step.root, politeness, now)
        earlier_hosts = (earlier_hosts, resting) | "DueAndResting" >> beam.Flatten()
    adopted_hosts = (
        pipeline
        | "Leftovers" >> beam.Create([step.leftovers])
        | "ReadStates" >> beam.FlatMap(_adopted_hosts, step.root)
    )
    hosts = (earlier_hosts, adopted_hosts) | "Hosts" >> beam.Flatten()
    traps = (
        pipeline
        | "TrapsFiles" >> beam.Create(step.traps)
        | "ReadTraps" >> beam.FlatMap(known_traps, step.root, due_hosts)
    )
    visited = (
        pipeline
        | "VisitsFiles" >> beam.Create(step.leftovers.paths("visits"))
        | "ReadVisited" >> beam.FlatMap(visited_keys, step.root)
    )
    sides = {"due": due, "robots": robots, "hosts": hosts, "traps": traps, "visited": visited}
    by_domain = {name: side | f"{name.title()}ByDomain" >> beam.MapTuple(_by_domain) for name, side in sides.items()}
    held = pipeline | "Held" >> beam.Create([dict(step.held)])
    by_domain | "GroupByDomain" >> beam.CoGroupByKey() | "VisitHosts" >> VisitHosts(step.context, held)
