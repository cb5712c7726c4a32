"""Applies alias rules to the URLs of a round: one URL of each class is fetched, the others get state `alias`.

A class is the set of URLs with the same normal form. A URL in state `alias` keeps its row of urls: it becomes due
when its rule is dropped, or when the visit of the URL that represents it gives no page.
"""

from collections.abc import Callable, Iterable, Iterator

from ..tables.schemas import Row
from ..urls.canonical import host, neatness, url_key
from .rules import Rules
from .sample import Found, Sample

ALIAS = "alias"

_STAND_INS = 3
_OF = " of "  # unambiguous, since URLs contain no blanks


def stands_for(reason: str) -> str:
    """The URL that represents an alias, parsed from the reason in its row."""
    return reason.rpartition(_OF)[2]


def is_free(row: Row, rules: Rules) -> bool:
    """Whether no rule makes an alias of a row of urls any more."""
    return rules.normal(row["url"]) != rules.normal(stands_for(row["reason"]))


def stand_ins(changed: Iterable[Row]) -> Iterator[Row]:
    """Candidates for the aliases of representatives whose visit gave no page."""
    for row in changed:
        for url in (row["stand_ins"] or ()) if row["state"] not in ("due", "fetched") else ():
            shared = {name: row[name] for name in ("depth", "score", "kind", "sitemap", "sitemap_lastmod")}
            names = {"url_key": url_key(url), "url": url, "host": host(url)}
            names |= {"redirects": 0, "links_without_news": None, "foreign": row.get("foreign")}
            yield shared | names | {"referrer": row["discovered_from"]}


class Classes:
    """The classes of URLs of a partition and their representatives.

    `known` contains earlier rows of urls, `changed` those that the round's visits changed, `due` the next frontier;
    updates are written to `changed` and `due`. All rows of a class must be in one partition. The rows of the `forms` of
    a URL that is found or visited are known. `sample` draws the aliases that are fetched all the same.
    """

    def __init__(
        self,
        rules: Rules,
        known: dict[bytes, Row],
        changed: dict[bytes, Row],
        due: dict[bytes, Row],
        round_: int,
        forms: Callable[[str], set[str]],
        sample: Sample,
    ) -> None:
        self._rules, self._round, self._forms, self._sample = rules, round_, forms, sample
        self._held: list[tuple[Row, Row, bytes]] = []  # new aliases, their representatives, keys of normal forms
        self._known, self._changed, self._due = known, changed, due
        self._standing: dict[bytes, Row] = {}  # by key of the normal form
        rows = (row for row in (known | changed).values() if row["host"] in rules.hosts and not row["kind"])
        for row in sorted(rows, key=_preference):
            self._take_in(row)

    def hold(self, candidate: Row) -> bool:
        """Whether a discovered URL is an alias of another URL. If not, it is processed like any other URL.

        Candidates must be passed in order of precedence: the first of a class is fetched, also if a URL that only other
        sites link stands for it so far: they would choose how the pages of a site are spelled. Afterwards, those that
        `drawn` returns are fetched too.
        """
        key, row = candidate["url_key"], self._row(candidate["url_key"])
        if candidate["host"] not in self._rules.hosts or candidate["kind"] or (row and row["state"] != ALIAS):
            return False
        if row and key in self._due:
            return True  # it was released, and waits for its visit
        class_ = url_key(self._rules.normal(candidate["url"]))
        first = self._standing.get(class_)
        is_first_of_own = first is not None and first.get("foreign") and candidate.get("foreign") is False
        if first is None or first["url_key"] == key or is_first_of_own:
            self._standing[class_] = candidate
            self._point(class_, candidate)
            return False
        if row is not None and row["discovered_from"] is not None:
            return self._join(candidate, first)
        self._held.append((candidate, first, class_))
        return True

    def drawn(self) -> list[Row]:
        """Makes the URLs that are held for the first time aliases; returns those that are fetched nevertheless."""
        strata = [self._rules.between(candidate["url"], first["url"]) for candidate, first, _ in self._held]
        found = [Found(one["url_key"], class_, some) for (one, _, class_), some in zip(self._held, strata, strict=True)]
        sample = self._sample.draw(found)
        return [one for one, first, _ in self._held if one["url_key"] in sample or not self._join(one, first)]

    def _join(self, candidate: Row, first: Row) -> bool:
        """Makes a URL an alias of another one; False if that one is due and has no row here."""
        key, row = candidate["url_key"], self._row(candidate["url_key"])
        if first["url_key"] in self._due and not self._add_way(first["url_key"], candidate):
            return False
        if row is None or row["discovered_from"] is None or row["joined_to"] != first["url_key"]:
            self._changed[key] = (row or {}) | self._alias(candidate, first)
        return True

    def _row(self, key: bytes) -> Row | None:
        return self._changed.get(key) or self._known.get(key)

    def _take_in(self, row: Row) -> None:
        """Sets the representative of a class from a row; rows must be passed in order of preference."""
        class_ = url_key(self._rules.normal(row["url"]))
        if row["state"] in ("due", "fetched"):
            if self._standing.setdefault(class_, row) is row and row["url_key"] in self._changed:
                self._point(class_, row)
        elif row["state"] == ALIAS and row["url_key"] == class_ and row["joined_to"]:
            first, known = stands_for(row["reason"]), self._row(row["joined_to"])
            if url_key(self._rules.normal(first)) != class_:
                return  # the rule that joined them was dropped
            if known and known["state"] not in ("due", "fetched"):
                self._changed[class_] = row | {"joined_to": None}
            else:
                self._standing.setdefault(class_, {"url_key": row["joined_to"], "url": first})

    def _point(self, class_: bytes, first: Row) -> None:
        """Records the representative in the row of the normal form, unless that URL has a state of its own.

        Later rounds find the representative and its digest there. The normal form need not be a linked URL. By a rule
        that is in force since this round, it may have a row that was not read; then nothing is recorded.
        """
        row, digest = self._row(class_), first.get("digest")
        if first["url_key"] == class_ or class_ in self._due or (row and row["state"] != ALIAS):
            return
        if not row or (row["joined_to"], row.get("digest")) != (first["url_key"], digest):
            form = self._rules.normal(first["url"])
            if form not in self._forms(first["url"]):
                return
            alias = self._alias(first | {"url_key": class_, "url": form, "host": host(form)}, first)
            found = (row or {}).get("discovered_from")
            self._changed[class_] = (row or {}) | alias | {"digest": digest, "discovered_from": found}

    def _add_way(self, key: bytes, candidate: Row) -> bool:
        """Adds an alias, possibly nearer or linked by its own site, to a URL that is due; False if that has no row."""
        row, due = self._row(key), self._due[key]
        if row is None:
            return False
        waiting = row.get("stand_ins") or []
        if len(waiting) < _STAND_INS and candidate["url"] not in waiting:
            self._changed[key] = row = row | {"stand_ins": [*waiting, candidate["url"]]}
        way = {name: candidate[name] for name in ("depth", "redirects") if candidate[name] < due[name]}
        if due.get("foreign") and candidate.get("foreign") is False:
            way["foreign"] = False
        if way:
            self._changed[key], self._due[key] = row | way, due | way
        return True

    def _alias(self, candidate: Row, first: Row) -> Row:
        names = {rule.name for rule, _ in self._rules.between(candidate["url"], first["url"])}
        kept = ("url_key", "url", "host", "depth", "redirects", "foreign", "score", "sitemap_lastmod")
        return {name: candidate.get(name) for name in kept} | {
            "state": ALIAS,
            "reason": ", ".join(sorted(names)) + _OF + first["url"],
            "joined_to": first["url_key"],
            "discovered_round": self._round,
            "discovered_from": candidate.get("referrer"),
            "fetches": 0,
            "failures": 0,
            "changes": 0,
        }


def _preference(row: Row) -> tuple[int, bool, tuple[int, str]]:
    """Sort key of the rows of a class; the smallest represents it: linked by its own site, visited, neat."""
    if row["state"] not in ("fetched", "due"):
        return (2, False, neatness(row["url"]))
    return (bool(row["foreign"]), row["state"] == "due", neatness(row["url"]))
