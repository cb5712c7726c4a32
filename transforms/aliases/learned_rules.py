"""The alias rules that the committed steps of a crawl have learned."""

from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa

from ..storage.crawl_dir import CrawlDir, Manifest, files_of
from ..storage.schemas import ALIASES
from ..storage.table_files import read_table
from .evidence import Row
from .rules import Rule, Rules


class KnownRules(NamedTuple):
    """The rules as of the end of the last round."""

    rows: dict[Rule, Row]
    used: Rules
    live: Rules  # used or proposed

    @classmethod
    def of(cls, rows: Iterable[Row]) -> "KnownRules":
        newest = {rule_of(row): row for row in sorted(rows, key=lambda row: row["round"])}
        return cls(newest, Rules(_in_state(newest, "used")), Rules(_in_state(newest, "used", "proposed")))

    def forms(self, url: str) -> set[str]:
        """The URL and those that may be equivalent to it: a round that finds or visits it reads their rows too."""
        return {*self.live.forms(url), self.used.normal(url)}


class InForce(NamedTuple):
    """The rules applied to this round's URLs, and the names of the rules that this round has dropped."""

    rules: Rules
    hosts: pa.Array
    dropped: frozenset[str]

    @classmethod
    def of(cls, known: KnownRules, judged: Iterable[Row]) -> "InForce":
        now = KnownRules.of([*known.rows.values(), *judged])
        dropped = _in_state(known.rows, "used") - _in_state(now.rows, "used")
        hosts = pa.array(sorted(now.used.hosts), pa.string())
        return cls(now.used, hosts, frozenset(rule.name for rule in dropped))


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
    """The rules in the committed steps of a crawl."""
    paths = [file.path for file in files_of(manifests, "aliases")]
    return KnownRules.of(read_table(crawl.root, paths, ALIASES).to_pylist())


def rule_of(row: Row) -> Rule:
    return Rule(row["origin"], row["kind"], row["detail"])


def _in_state(rows: dict[Rule, Row], *states: str) -> set[Rule]:
    return {rule for rule, row in rows.items() if row["state"] in states}
