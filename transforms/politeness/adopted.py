"""Results and backoff states of earlier attempts at a step, read from their complete pieces."""

import dataclasses
from collections.abc import Iterator, Sequence, Set
from datetime import datetime

from ..directory.crawl_dir import CrawlDir
from ..directory.pieces import Leftovers, find_leftovers, read_promises
from ..files import filesystem
from ..settings import Politeness
from ..tables.schemas import HOSTS, ROBOTS, VISITS, HostRow, RobotsRow
from ..tables.table_files import TableFile, TableWriter, read_table
from . import backoff
from .host_stats import EMPTY_LATENCY, newest_row, newest_rows
from .works import Work


@dataclasses.dataclass
class Adopted:
    """Keys of visited URLs, rows of robots and backoff states, each by host."""

    visited: dict[str, set[bytes]] = dataclasses.field(default_factory=dict)
    robots: dict[str, list[RobotsRow]] = dataclasses.field(default_factory=dict)
    hosts: dict[str, HostRow] = dataclasses.field(default_factory=dict)

    @classmethod
    def read(cls, root: str, leftovers: Leftovers, hosts: Set[str] | None = None) -> "Adopted":
        """Read the states of all hosts, and the URLs and robots.txt files of `hosts` (None: all), from leftovers."""
        found = cls()
        for file in leftovers.files:
            if file.table == "visits":
                for host, keys in visited_keys(file.path, root):
                    if hosts is None or host in hosts:
                        found.visited.setdefault(host, set()).update(keys)
            elif file.table == "robots":
                for row in read_table(root, [file.path], ROBOTS).to_pylist():
                    if hosts is None or row["host"] in hosts:
                        found.robots.setdefault(row["host"], []).append(row)
        found.hosts.update(newest_rows(state_rows(root, leftovers)))
        return found

    def take_over(self, work: Work) -> Work:
        """Return the remaining work of a host, with its newest robots.txt files and state."""
        visited, row = self.visited.get(work.host, ()), self.hosts.get(work.host)
        return work._replace(
            due=[due for due in work.due if due[0] not in visited],
            robots=[*work.robots, *self.robots.get(work.host, ())],
            row=newest_row([known for known in (work.row, row) if known]),
        )

    def held(self, politeness: Politeness) -> dict[str, datetime]:
        """Return the hosts under a delay, each with the earliest time of its next request."""
        times = {host: backoff.ready_at(row, politeness) for host, row in self.hosts.items()}
        return {host: time for host, time in times.items() if time}


def visited_keys(path: str, root: str) -> Iterator[tuple[str, list[bytes]]]:
    """Yield (host, keys of its URLs) from a file of visits."""
    keys: dict[str, list[bytes]] = {}
    table = read_table(root, [path], VISITS, ["host", "url_key"])
    for host, key in zip(table["host"].to_pylist(), table["url_key"].to_pylist(), strict=True):
        keys.setdefault(host, []).append(key)
    yield from keys.items()


def write_promises(root: str, round_: int, promises: Sequence[str]) -> list[TableFile]:
    """Write the host states of promise files, if any, to a file of host_turns, so that they outlive the step."""
    latest = newest_rows(row for path in promises for row in promised_states(root, path))
    nothing = {"visits": 0, "requests": 0, "fetched": 0, "failures": 0, "bytes": 0, "elapsed_ms": 0.0}
    writer = TableWriter(root, "host_turns", round_)
    writer.write_rows([{**nothing, "latency": list(EMPTY_LATENCY), "addresses": [], **row} for row in latest.values()])
    file = writer.close()
    return [file] if file else []


def state_rows(root: str, leftovers: Leftovers) -> Iterator[HostRow]:
    """Yield the host states in complete pieces, and those promised since."""
    yield from read_table(root, leftovers.paths("host_turns"), HOSTS, backoff.STATE_COLUMNS).to_pylist()
    for path in leftovers.promises:
        yield from promised_states(root, path)


def promised_states(root: str, path: str) -> Iterator[HostRow]:
    """Yield the rows of a promise file, or those of its attempt's pieces if a running attempt has removed the file."""
    try:
        yield from read_promises(root, path)
    except OSError:
        if filesystem.exists(filesystem.join(root, path)):
            raise
        attempt = path.rpartition("/")[2].partition("-promises-")[0]
        pieces = find_leftovers(CrawlDir(root), attempt).paths("host_turns")
        yield from read_table(root, pieces, HOSTS, backoff.STATE_COLUMNS).to_pylist()
