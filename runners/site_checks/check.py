"""Checks the pages and links of a crawl by the rules, as a table of findings."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import duckdb

from ...transforms.directory.crawl_dir import CrawlDir, Manifest, paths_of
from ...transforms.http.request_headers import Identity
from ...transforms.parsing.crawl_scope import CrawlScope
from ...transforms.sections.section import url_of
from ...transforms.settings import Scope, Settings
from ...transforms.sql.queries import open_tables
from ..terminal.units import counted
from .gather import TABLES, drop_files, gather
from .rules import BY_NAME, COLUMNS, RULES, SLOW_S, Finding, Rule

_BATCH = 1_000  # findings in memory


class Count(NamedTuple):
    """How many findings a rule has."""

    rule: Rule
    findings: int
    pages: int
    targets: int  # distinct ones; 0: findings about pages themselves


class Checked:
    """The findings of a check, in a database that moves what exceeds its memory to a temporary folder."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, rules: Sequence[Rule]) -> None:
        self._connection, self._rules = connection, rules
        self.notes: list[str] = []

    @property
    def pages(self) -> int:
        """How many pages were checked."""
        return _number(self._connection, "SELECT count(*) FROM current")

    def counts(self) -> list[Count]:
        """The number of findings of each rule, zeros included."""
        grouped = self._connection.execute(
            "SELECT rule, count(*), count(DISTINCT page), count(DISTINCT target) FROM findings GROUP BY rule"
        )
        by_name = {name: tuple(counts) for name, *counts in grouped.fetchall()}
        return [Count(rule, *by_name.get(rule.name, (0, 0, 0))) for rule in self._rules]

    def findings(self, rule: Rule, most: int | None = None) -> Iterator[Finding]:
        """The findings of a rule, by page; the first `most`, if given."""
        names = ", ".join(f'"{name}"' for name in COLUMNS)
        query = f"SELECT {names} FROM findings WHERE rule = '{rule.name}' ORDER BY page, target, anchor"
        limit = "" if most is None else f" LIMIT {most}"
        for batch in self._connection.cursor().sql(query + limit).to_arrow_reader(_BATCH):
            for row in batch.to_pylist():
                section_id = row.pop("section_id")
                yield Finding(rule.name, place=url_of(row["page"], section_id or ""), **row)


@contextmanager
def check_site(
    crawl: CrawlDir,
    manifests: Sequence[Manifest],
    settings: Settings,
    rules: Sequence[Rule] = RULES,
    since: int | None = None,
    slow_s: float = SLOW_S,
    map_: Callable[..., Iterator[Any]] = map,
) -> Iterator[Checked]:
    """Check a crawl by some rules; with `since`, only what has come about after that round counts.

    Whether it has is decided by the check of the crawl as it was then. `map_` is a `map`, which reads pages.
    CrawlDirError if a file is damaged.
    """
    last = max(manifest.round for manifest in manifests)
    robot = Identity.of(settings.robot).token
    with open_tables(crawl, manifests, TABLES) as connection:
        for name, state in (("earlier", since), ("findings", last)):
            if state is not None:
                gather(connection, crawl, manifests, robot, slow_s, state, map_)
                drop_files(connection, _url_filter(crawl, manifests, settings))
                _find(connection, name, rules)
                if name == "earlier":
                    connection.execute("CREATE TABLE unread AS SELECT url FROM current ANTI JOIN pages USING (url_key)")
                    connection.execute(_UNDECIDED)
        if since is not None:
            connection.execute(_NEW, [since])
        checked = Checked(connection, rules)
        checked.notes = _notes(connection, rules, settings.scope)
        yield checked


def _url_filter(crawl: CrawlDir, manifests: Sequence[Manifest], settings: Settings) -> Any:
    seeds = paths_of(manifests, "seeds")
    return CrawlScope.of(crawl.root, settings.scope, settings.documents, seeds).url_filter()


def _find(connection: duckdb.DuckDBPyConnection, table: str, rules: Collection[Rule]) -> None:
    """Create a table of the findings of rules."""
    connection.execute(_FINDINGS.format(table=table))
    names = ", ".join(f'"{name}"' for name in COLUMNS)
    for rule in rules:
        connection.execute(f"INSERT INTO {table} (rule, {names}) SELECT '{rule.name}', * FROM ({rule.query})")


_FINDINGS = """
CREATE TABLE {table} (
    rule VARCHAR, page VARCHAR, section VARCHAR, section_id VARCHAR, anchor VARCHAR, target VARCHAR, status INT,
    final VARCHAR, detail VARCHAR, since TIMESTAMPTZ, "round" INT
)
"""

_NEW = """
DELETE FROM findings f
WHERE EXISTS (
    FROM earlier e WHERE e.rule = f.rule AND e.page = f.page AND e.target IS NOT DISTINCT FROM f.target
) OR ((f.page IN (SELECT url FROM unread) OR f.rule IN (SELECT rule FROM undecided)) AND f."round" <= ?)
"""
"""Of a page whose body of then is not stored any more, and of a rule that was not decided then, the dates decide."""

_UNDECIDED = """
CREATE TABLE undecided AS
    SELECT 'orphan' AS rule WHERE EXISTS (FROM gaps)
    UNION ALL SELECT 'not_in_sitemap' FROM sitemaps_known WHERE NOT is_known
"""


_HELD = """
SELECT count(*), min(url) FROM urls
WHERE state = 'trapped' AND url_key IN (SELECT target_key FROM newest_links)
"""


_UNVISITED = """
SELECT count(*), min(url) FROM gaps
WHERE reason = 'unvisited' AND url NOT IN (SELECT url FROM urls WHERE state = 'trapped')
"""

_OTHER_HOSTS = """
SELECT count(DISTINCT target_key), min(target_url) FROM newest_links ANTI JOIN answers ON target_key = answers.url_key
WHERE kind IN ('a', 'area') AND split_part(target_url, '/', 3) NOT IN (SELECT split_part(url, '/', 3) FROM current)
"""


def _notes(connection: duckdb.DuckDBPyConnection, rules: Collection[Rule], scope: Scope) -> list[str]:
    """What the check could not know."""
    notes = []
    if without := _number(connection, "SELECT count(*) FROM current ANTI JOIN pages USING (url_key)"):
        notes.append(
            f"{without} pages have no stored HTML (another kind, or removed by storage.body_rounds): their links are"
            " checked without places and fragments, and by no rule about pages"
        )
    held, url = connection.execute(_HELD).fetchall()[0]
    if held:
        notes.append(
            f"links to URLs that are held as traps have no finding: {held} (such as {url}); to have them requested:"
            " beamtrawl release"
        )
    unvisited, url = connection.execute(_UNVISITED).fetchall()[0]
    if unvisited:
        notes.append(
            f"links to URLs of the site that were not visited have no finding: {unvisited} (such as {url}); why:"
            " beamtrawl explain DIR URL"
        )
    if scope.check_external:
        notes += _external_notes(connection, scope.max_external)
    else:
        elsewhere, url = connection.execute(_OTHER_HOSTS).fetchall()[0]
        if elsewhere:
            notes.append(
                f"links to other hosts are not checked: {counted(elsewhere, 'target')} (such as {url}); to have them"
                " asked for their status: beamtrawl crawl DIR --check-external"
            )
    if BY_NAME["orphan"] in rules and (gaps := _gaps(connection)):
        notes.append(f"orphan: not decided, because pages may have further links: {gaps}")
    if BY_NAME["not_in_sitemap"] in rules and not _number(connection, "SELECT is_known::INT FROM sitemaps_known"):
        notes.append("not_in_sitemap: not decided, because a sitemap was cut or could not be fetched")
    return notes


def _external_notes(connection: duckdb.DuckDBPyConnection, most: int) -> Iterator[str]:
    """What is not known of links to other hosts."""
    waiting, url = connection.execute(
        "SELECT count(*), min(url) FROM external ANTI JOIN answers USING (url_key)"
    ).fetchall()[0]
    if waiting:
        yield f"external targets that were not asked for yet have no finding: {waiting} (such as {url})"
    if _number(connection, "SELECT count(*) FROM external") >= most:
        yield f"further external targets have no finding: scope.max_external = {most} is reached"


def _gaps(connection: duckdb.DuckDBPyConnection) -> str:
    gaps = connection.execute("SELECT reason, count(*), min(url) FROM gaps GROUP BY reason ORDER BY reason").fetchall()
    return ", ".join(f"{count} {reason} (such as {url})" for reason, count, url in gaps)


def _number(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    row = connection.execute(query).fetchone()
    return int(row[0]) if row else 0
