"""Which URLs traps hold back: rows of table urls in state `trapped`, out of the frontier."""

from collections.abc import Iterable
from typing import NamedTuple

from .judge import Allows, Row, State, is_exempt, kind_of, look, names_of, newest_by_template

TRAP = "trap"
"""Why a URL is in state `trapped`."""


class Held(NamedTuple):
    """What is known of a host that has traps; plain, since it travels to all workers."""

    host: str
    rows: list[Row]  # of table traps
    forms: list[int]


class Holds:
    """Which rows of the frontier are to be held back; takes `Held` as tuples."""

    def __init__(self, held: Iterable[tuple], is_allowed: Allows) -> None:
        self._hosts = {one.host: (newest_by_template(one.rows), frozenset(one.forms)) for one in map(Held._make, held)}
        self._is_allowed = is_allowed

    def __bool__(self) -> bool:
        return bool(self._hosts)

    def __call__(self, row: Row) -> bool:
        if row["host"] not in self._hosts or is_exempt(row["depth"], row["kind"], row.get("digest")):
            return False
        known, forms = self._hosts[row["host"]]
        looks = look(row["url"])
        rows = filter(
            None,
            map(known.get, names_of(looks.template, kind_of(looks, bool(row["links_without_news"]), forms), known)),
        )
        return any(one["state"] == State.TRAPPED for one in rows) and not self._is_allowed(row["url"])


def hold(
    changed: list[Row], due: list[Row], earlier: Iterable[Row], holds: Holds, round_: int
) -> tuple[list[Row], list[Row]]:
    """(changed rows of urls, the next frontier) of `url_states.advance`, with what is held in state `trapped`.

    `earlier` has a row of urls for each held one that is not among the changed. What was asked for before is not held.
    """
    wanted = {row["url_key"] for row in due if holds(row)} if holds else set()
    rows = newest_by_key([row for row in earlier if row["url_key"] in wanted])
    rows |= {row["url_key"]: row for row in changed}
    held = {key for key in wanted if not rows[key]["fetches"]}
    for key in held:
        rows[key] = rows[key] | {"state": State.TRAPPED.value, "reason": TRAP, "round": round_}
    kept = held.union(row["url_key"] for row in changed)
    return [rows[key] for key in sorted(kept)], [row for row in due if row["url_key"] not in held]


def newest_by_key(rows: Iterable[Row]) -> dict[bytes, Row]:
    """The row that counts of each URL."""
    return {row["url_key"]: row for row in sorted(rows, key=lambda row: row["round"])}
