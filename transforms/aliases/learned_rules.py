"""The alias rules that the committed steps of a crawl have learned."""

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import NamedTuple

import pyarrow as pa

from ..directory.crawl_dir import CrawlDir, Manifest, files_of
from ..tables.newest import newest
from ..tables.schemas import ALIAS_COUNTS, ALIASES, Row
from ..tables.table_files import read_table
from ..urls.canonical import host
from .exempt import EXEMPT_NOTHING, Exempt, exempt_urls
from .rules import BETWEEN_ORIGINS, KINDS, Rule, Rules, Stratum
from .sample import Count
from .scopes import Where


class KnownRules(NamedTuple):
    """The rules as of the end of the last round."""

    rows: dict[Stratum, Row]
    used: Rules  # where they hold
    live: Rules  # used or proposed
    exempt: Exempt
    counts: Mapping[Stratum, Count]
    ignored: int  # rules of earlier versions, which were used for whole origins or between hosts

    @classmethod
    def of(
        cls, rows: Iterable[Row], exempt: Exempt = EXEMPT_NOTHING, counts: Mapping[Stratum, Count] | None = None
    ) -> "KnownRules":
        """From rows of table aliases. Those that earlier versions learned for whole origins are ignored."""
        rows = sorted(rows, key=itemgetter("round"))
        of_origins = newest(filter(is_of_origin, rows), stratum_of)
        current = newest((row for row in rows if not is_of_origin(row)), stratum_of)
        states: dict[Rule, list[tuple[str, str]]] = {}
        for (rule, scope), row in current.items():
            states.setdefault(rule, []).append((scope, row["state"]))
        used, live = (_rules(states, exempt, *names) for names in (("used",), ("used", "proposed")))
        ignored = sum(row["state"] == "used" for row in of_origins.values())
        return cls(current, used, live, exempt, counts or {}, ignored)

    def forms(self, url: str) -> set[str]:
        """The URL and those that may be equivalent to it: a round that finds or visits it reads their rows too."""
        return {*self.live.forms(url), self.used.normal(url)}


class InForce(NamedTuple):
    """The rules applied to this round's URLs, and the hosts of rules that this round has dropped in some scope."""

    rules: Rules
    hosts: pa.Array
    freed: frozenset[str]

    @classmethod
    def of(cls, known: KnownRules, judged: Iterable[Row]) -> "InForce":
        judged = list(judged)
        now = KnownRules.of([*known.rows.values(), *judged], known.exempt)
        dropped = {stratum_of(row) for row in judged if row["state"] == "dropped"}
        rules = [rule for rule, scope in dropped if rule in known.used and known.used.holds(rule, scope)]
        origins = [name for rule in rules for name in _origins(rule)]
        hosts = pa.array(sorted(now.used.hosts), pa.string())
        return cls(now.used, hosts, frozenset(host(f"{name}/") for name in origins))


class RulesInForce:
    """The rules in force after a round, computed once per process and round."""

    def __init__(self, known: KnownRules) -> None:
        self._known = known
        self._found: InForce | None = None

    def after(self, judged: list[Row]) -> InForce:
        """Return the rules with the rows of table aliases of the round."""
        if self._found is None:
            self._found = InForce.of(self._known, judged)
        return self._found


def known_rules(crawl: CrawlDir, manifests: Iterable[Manifest]) -> KnownRules:
    """The rules in the committed steps of a crawl, without effect on the URLs that are exempt now."""
    manifests = list(manifests)
    read = {
        table: read_table(crawl.root, [file.path for file in files_of(manifests, table)], schema).to_pylist()
        for table, schema in (("aliases", ALIASES), ("alias_counts", ALIAS_COUNTS))
    }
    counted = newest(read["alias_counts"], stratum_of)
    counts = {stratum: Count(row["held"], row["sampled"]) for stratum, row in counted.items()}
    return KnownRules.of(read["aliases"], exempt_urls(crawl), counts)


def stratum_of(row: Row) -> Stratum:
    return Rule(row["origin"], row["kind"], row["detail"]), row["template"]


def is_of_origin(row: Row) -> bool:
    """Whether a row of table aliases is of an earlier version, whose rules held for whole origins or between hosts."""
    return row["template"] is None or row["kind"] not in KINDS


def _rules(states: Mapping[Rule, list[tuple[str, str]]], exempt: Exempt, *names: str) -> Rules:
    """The rules that have one of some states in any scope."""
    where = {rule: Where.of(found, *names) for rule, found in states.items()}
    where = {rule: scopes for rule, scopes in where.items() if scopes.used}
    return Rules(where, where, exempt)


def _origins(rule: Rule) -> list[str]:
    return [rule.origin, rule.detail] if rule.kind in BETWEEN_ORIGINS else [rule.origin]
