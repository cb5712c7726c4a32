"""Moves URLs of trapped templates out of the frontier: their rows of table urls get state `trapped`."""

from collections import Counter
from collections.abc import Iterable
from operator import itemgetter
from typing import NamedTuple

from ..tables.newest import newest
from ..tables.schemas import Row
from .allow_list import AllowList
from .discovery import Known, from_elsewhere, kind_of, names_of, shape_of, source_name
from .judge import SPARED, is_exempt
from .template_rows import Kind, State, is_shared

TRAP = "trap"
"""The reason of a URL in state `trapped`."""


class TrappedHost(NamedTuple):
    """A host with throttled or trapped templates; of plain types, because it is sent to all workers."""

    host: str
    rows: list[Row]  # of table traps
    forms: list[int]


class Holds:
    """Decides which rows of the frontier are held; takes `TrappedHost` as tuples."""

    def __init__(self, trapped: Iterable[tuple], is_allowed: AllowList) -> None:
        hosts = map(TrappedHost._make, trapped)
        self._hosts = {one.host: (Known(one.rows), frozenset(one.forms)) for one in hosts}
        self._is_allowed = is_allowed
        self._found: dict[bytes, list[Row]] = {}  # by key of the URL: each is looked up for several purposes
        self._sampled = set[bytes]()  # keys of URLs that were found lately, on pages of whose links none was tried

    def __bool__(self) -> bool:
        return bool(self._hosts)

    def __contains__(self, host: str) -> bool:
        return host in self._hosts

    @property
    def hosts(self) -> list[str]:
        return sorted(self._hosts)

    def throttled(self, row: Row) -> list[Row]:
        """The rows of throttled or trapped templates that apply to a row of the frontier."""
        if row["host"] not in self._hosts or is_exempt(row["depth"], row["kind"], row.get("digest")):
            return []
        if row["url_key"] not in self._found:
            self._found[row["url_key"]] = self._find(row)
        return self._found[row["url_key"]]

    def _find(self, row: Row) -> list[Row]:
        known, forms = self._hosts[row["host"]]
        shape = shape_of(row["url"], row["referrer"], row.get("foreign"), row.get("redirects") or 0)
        kind = kind_of(shape, bool(row["links_without_news"]), forms, known)
        names = names_of(shape, kind, known.rows)
        found = [known.rows[name] for name in names if name in known.rows and known.rows[name]["state"] != State.OPEN]
        is_new = found and (found[0]["template"], found[0]["kind"]) == (shape.template, kind)
        is_recent = (row.get("discovered_round") or 0) >= max(one["round"] for one in known.rows.values()) - 1
        if is_new and is_recent and source_name(shape, kind):
            self._sampled.add(row["url_key"])
        return [] if found and self._is_allowed(row["url"]) else found

    def __call__(self, row: Row) -> bool:
        """Whether a row is held. A sample is exempt while its host has other pages to visit."""
        budgets = [int(one["budget"]) for one in self.throttled(row) if one["state"] == State.TRAPPED]
        if row["url_key"] in self._sampled:
            return False
        return bool(budgets) and (min(budgets) == 0 or int.from_bytes(row["url_key"][-4:]) % SPARED != 0)


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


def count_waiting(rows: Iterable[Row], holds: Holds) -> Counter[QueueName]:
    """The number of waiting URLs among rows of the frontier; one with several applicable templates counts for each."""
    counts = Counter[QueueName]()
    for row in rows:
        if row["host"] in holds:
            counts[_whole(row)] += 1
            counts.update((row["host"], one["template"], str(one["kind"])) for one in holds.throttled(row))
    return counts


def count_held(rows: Iterable[Row], holds: Holds) -> Counter[QueueName]:
    """The number of held URLs; one with several applicable templates counts for the first of them."""
    counts = Counter[QueueName]()
    for row in rows:
        if found := holds.throttled(row):
            own = min(found, key=lambda one: is_shared(one["template"]))
            counts[row["host"], own["template"], str(own["kind"])] += 1
            counts[_whole(row)] += 1
    return counts


def _whole(row: Row) -> QueueName:
    return row["host"], "", str(Kind.FOREIGN) if from_elsewhere(row) else ""
