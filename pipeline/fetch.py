"""The fetch step of a round: the frontier in, visits and robots.txt files out."""

import dataclasses
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import apache_beam as beam

from transforms.files import ReportFiles, WriteRows
from transforms.frontier import ReadDue
from transforms.robots import Verdict
from transforms.robots_asking import LAST_GOOD
from transforms.scheduler import VisitContext
from transforms.tables import HOSTS, ROBOTS, read_table
from transforms.visits import VisitHosts


@dataclasses.dataclass(frozen=True)
class FetchStep:
    """What one fetch step reads and where it writes."""

    root: str
    context: VisitContext
    frontier: Sequence[str]  # paths of frontier files
    robots: Sequence[str]  # paths of robots files of earlier rounds
    hosts: Sequence[str]  # and of hosts files
    now: datetime
    at_most: int | None  # visits, over all hosts
    report: str  # where the list of written files goes


def known_robots_rows(path: str, root: str, now: datetime) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a robots file that may still count, by host. That one was out of reach is no reason not to ask."""
    for row in read_table(root, [path], ROBOTS).to_pylist():
        if row["fetched_at"] > now.astimezone(UTC) - LAST_GOOD and row["verdict"] != Verdict.UNREACHABLE:
            yield row["host"], row


def last_asked(path: str, root: str) -> Iterator[tuple[str, datetime]]:
    """When each host of a hosts file got its last answer to us."""
    rows = read_table(root, [path], HOSTS, ["host", "last_fetched_at"])
    for host, moment in zip(rows["host"].to_pylist(), rows["last_fetched_at"].to_pylist(), strict=True):
        if moment is not None:
            yield host, moment


def build(pipeline: beam.Pipeline, step: FetchStep) -> None:
    """Read, group by host, fetch politely, write. Bodies are written in the bundle that fetched them."""
    host_to_due = (
        pipeline
        | "FrontierFiles" >> beam.Create(step.frontier)
        | "ReadFrontier" >> ReadDue(step.root, step.now, step.at_most)
    )
    host_to_robots = (
        pipeline
        | "RobotsFiles" >> beam.Create(step.robots)
        | "ReadRobots" >> beam.FlatMap(known_robots_rows, step.root, step.now)
    )
    host_to_last_asked = (
        pipeline | "HostsFiles" >> beam.Create(step.hosts) | "ReadHosts" >> beam.FlatMap(last_asked, step.root)
    )
    visited = (
        {"due": host_to_due, "robots": host_to_robots, "asked": host_to_last_asked}
        | "GroupByHost" >> beam.CoGroupByKey()
        | "VisitHosts" >> VisitHosts(step.context)
    )
    round_ = step.context.round
    visits = visited.visits | "WriteVisits" >> WriteRows(step.root, "visits", round_, count_by="outcome")
    robots = visited.robots | "WriteRobots" >> WriteRows(step.root, "robots", round_)
    (visits, robots) | "Files" >> beam.Flatten() | "Report" >> ReportFiles(step.report)
