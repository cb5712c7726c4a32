"""The fetch step of a round: the frontier in; visits, robots.txt files and the hosts' turns out."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import apache_beam as beam

from ..transforms import urls
from ..transforms.frontier.read_due import Bounds, ReadDue
from ..transforms.politeness.adopted import state_rows, visited_keys
from ..transforms.politeness.backoff import STATE_COLUMNS
from ..transforms.politeness.context import VisitContext
from ..transforms.politeness.visit_hosts import VisitHosts
from ..transforms.robots.lookup import LAST_GOOD
from ..transforms.robots.rules import Verdict
from ..transforms.storage.pieces import Leftovers
from ..transforms.storage.schemas import HOSTS, ROBOTS, TRAP_SAMPLES, TRAPS, HostRow
from ..transforms.storage.table_files import read_table


@dataclasses.dataclass(frozen=True)
class FetchStep:
    """The inputs and outputs of one fetch step."""

    root: str
    context: VisitContext
    frontier: Sequence[str]  # paths of frontier files
    robots: Sequence[str]  # paths of robots files of earlier rounds
    hosts: Sequence[str]  # and of hosts files
    traps: Sequence[str]  # and of traps and trap_samples files
    held: Mapping[str, datetime]  # hosts that may not be requested yet, and until when
    bounds: Bounds  # on the frontier rows that are read
    leftovers: Leftovers  # of earlier attempts


def known_robots_rows(path: str, root: str, now: datetime) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a robots file that may still be valid, by host; not those of an unreachable robots.txt."""
    for row in read_table(root, [path], ROBOTS).to_pylist():
        if row["fetched_at"] > now.astimezone(UTC) - LAST_GOOD and row["verdict"] != Verdict.UNREACHABLE:
            yield row["host"], row


def known_hosts(path: str, root: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the backoff columns of the rows of a hosts file, by host."""
    for row in read_table(root, [path], HOSTS, list(STATE_COLUMNS)).to_pylist():
        yield row["host"], row


def known_traps(path: str, root: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the columns of a traps or trap_samples file that limit the visits of a host, by host."""
    table, columns = (TRAPS, _JUDGED) if path.startswith("traps/") else (TRAP_SAMPLES, ["host", "forms"])
    for row in read_table(root, [path], table, columns).to_pylist():
        if row.get("forms") != b"":
            yield row["host"], row


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
    due = pipeline | "FrontierFiles" >> beam.Create(step.frontier) | "ReadFrontier" >> ReadDue(step.root, step.bounds)
    robots = (
        pipeline
        | "RobotsFiles" >> beam.Create([*step.robots, *step.leftovers.paths("robots")])
        | "ReadRobots" >> beam.FlatMap(known_robots_rows, step.root, step.bounds.now)
    )
    earlier_hosts = (
        pipeline | "HostsFiles" >> beam.Create(step.hosts) | "ReadHosts" >> beam.FlatMap(known_hosts, step.root)
    )
    adopted_hosts = (
        pipeline
        | "Leftovers" >> beam.Create([step.leftovers])
        | "ReadStates" >> beam.FlatMap(_adopted_hosts, step.root)
    )
    hosts = (earlier_hosts, adopted_hosts) | "Hosts" >> beam.Flatten()
    traps = pipeline | "TrapsFiles" >> beam.Create(step.traps) | "ReadTraps" >> beam.FlatMap(known_traps, step.root)
    visited = (
        pipeline
        | "VisitsFiles" >> beam.Create(step.leftovers.paths("visits"))
        | "ReadVisited" >> beam.FlatMap(visited_keys, step.root)
    )
    sides = {"due": due, "robots": robots, "hosts": hosts, "traps": traps, "visited": visited}
    by_domain = {name: side | f"{name.title()}ByDomain" >> beam.MapTuple(_by_domain) for name, side in sides.items()}
    held = pipeline | "Held" >> beam.Create([dict(step.held)])
    by_domain | "GroupByDomain" >> beam.CoGroupByKey() | "VisitHosts" >> VisitHosts(step.context, held)
