"""Moves URLs of trapped templates out of the frontier: their rows of table urls get state `trapped`."""

from collections import Counter
from collections.abc import Collection, Iterable
from operator import itemgetter
from typing import NamedTuple

from ..tables.newest import newest
from ..tables.schemas import Row
from . import promise
from .allow_list import AllowList
from .discovery import Known, from_elsewhere, shape_of
from .judge import is_exempt
from .template_rows import Kind, Name, State

TRAP = "trap"
"""The reason of a URL in state `trapped`."""


class TrappedHost(NamedTuple):
    """A host with throttled or trapped templates; of plain types, because it is sent to all workers."""

    host: str
    rows: list[Row]  # of table traps
    forms: list[int]
    gone: Collection[bytes] = ()  # keys of the pages of a round that the host answers to any address


class Holds:
    """Decides which rows of the frontier are held; takes `TrappedHost` as tuples."""

    def __init__(self, trapped: Collection[tuple], is_allowed: AllowList) -> None:
        self._hosts = {one.host: Known(one.rows, one.forms) for one in map(TrappedHost._make, trapped)}
        self._is_allowed = is_allowed
        self.gone = {key for one in map(TrappedHost._make, trapped) for key in one.gone}
        self._found: dict[bytes, tuple[Name | None, float]] = {}  # by key: each URL is looked up for several purposes

    def __bool__(self) -> bool:
        return bool(self._hosts)

    def __contains__(self, host: str) -> bool:
        return host in self._hosts

    @property
    def hosts(self) -> list[str]:
        return sorted(self._hosts)

    def name_of(self, row: Row) -> Name | None:
        """The row of table traps that says that a URL of the frontier promises little; None if it does not."""
        return self._judged(row)[0]

    def __call__(self, row: Row) -> bool:
        """Whether a row is held."""
        name, share = self._judged(row)
        return name is not None and share <= promise.HELD and self._hosts[row["host"]].is_ended

    def _judged(self, row: Row) -> tuple[Name | None, float]:
        """(`name_of`, what the URL promises)"""
        if row["host"] not in self._hosts or is_exempt(row["depth"], row["kind"], row.get("digest")):
            return None, 1.0
        if row["url_key"] not in self._found:
            known = self._hosts[row["host"]]
            shape = shape_of(row["url"], row["referrer"], row.get("foreign"), row.get("redirects") or 0)
            names = known.names_of(shape, known.kind_of(shape, bool(row["links_without_news"])))
            share = 1.0 if self._is_allowed(row["url"]) else known.promised(names)
            closed = next(filter(known.is_closed, reversed(names)), names[-1])
            self._found[row["url_key"]] = closed if share <= promise.CLOSED else None, share
        return self._found[row["url_key"]]


def hold(
    changed: list[Row], due: list[Row], earlier: Iterable[Row], holds: Holds, round_: int
) -> tuple[list[Row], list[Row]]:
    """(changed rows of urls, the next frontier) of `url_states.advance`, with the held URLs in state `trapped`.

    `earlier` has a row of urls for each held URL that is not in `changed`. URLs requested before are not held.
    """
    wanted = {row["url_key"] for row in due if holds(row)} if holds else set()
    rows = newest((row for row in earlier if row["url_key"] in wanted), itemgetter("url_key"))
    rows |= {row["url_key"]: row for row in changed}
    held = {key for key in wanted if not rows[key]["fetches"]}
    for key in held:
        rows[key] = rows[key] | {"state": State.TRAPPED.value, "reason": TRAP, "round": round_}
    kept = held.union(row["url_key"] for row in changed)
    return [rows[key] for key in sorted(kept)], [row for row in due if row["url_key"] not in held]


QueueName = tuple[str, str, str]
"""(host, template, kind); without template: all URLs of the host that its own site links (without kind), or others."""


def count_queues(rows: Iterable[Row], holds: Holds) -> Counter[QueueName]:
    """The number of URLs, of rows of the frontier; one with several applicable templates counts for the first."""
    counts = Counter[QueueName]()
    for row in rows:
        if row["host"] in holds:
            counts[row["host"], "", str(Kind.FOREIGN) if from_elsewhere(row) else ""] += 1
            if name := holds.name_of(row):
                counts[row["host"], name[0], str(name[1])] += 1
    return counts
