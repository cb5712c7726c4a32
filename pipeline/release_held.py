"""Releases URLs held as traps or as aliases: those that settings or a command allow, and those that nothing holds."""

import dataclasses
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from operator import itemgetter
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ..transforms.aliases.apply import ALIAS, is_free
from ..transforms.aliases.exempt import RELEASED, Exempt, released_patterns
from ..transforms.aliases.learned_rules import KnownRules, known_rules
from ..transforms.aliases.rules import NO_RULES, Rules
from ..transforms.blocks.files import read_blocks
from ..transforms.directory.beside import registered
from ..transforms.directory.crawl_dir import CrawlDir, Manifest, files_of, iso, next_step, paths_of
from ..transforms.directory.waiting import Waiting, matching_waiting, read_waiting
from ..transforms.frontier.files import write_frontier
from ..transforms.settings import Aliases, Settings, Traps
from ..transforms.tables.key_scan import Wanted, groups_with, matching_rows
from ..transforms.tables.newest import newest
from ..transforms.tables.schemas import KEY, TRAP_SAMPLES, TRAPS, URLS, Row
from ..transforms.tables.table_files import open_parquet, read_table
from ..transforms.traps.allow_list import compile_allow_list
from ..transforms.traps.holds import Holds, TrappedHost
from ..transforms.traps.novelty import unpack
from ..transforms.traps.template_rows import REOPENED, State

HELD_STATES = (State.TRAPPED.value, ALIAS)


class Released(NamedTuple):
    """The number of URLs that match a pattern."""

    held: int  # that a trap or an alias rule held: they are put into the frontier
    waiting: int  # in the frontier: their number per round is not limited any more


def with_released(crawl: CrawlDir, settings: Settings) -> Settings:
    """Return the settings with the patterns of `release` added to `traps.allow`."""
    allow = [*settings.traps.allow, *released_patterns(crawl)]
    return dataclasses.replace(settings, traps=dataclasses.replace(settings.traps, allow=allow))


def count_matches(crawl: CrawlDir, pattern: str) -> Released:
    """Return the number of held and of waiting URLs that a pattern matches."""
    manifests = crawl.manifests()
    matches, is_released = compile_allow_list([pattern]), _released_by(crawl, manifests, [pattern])
    waiting = set[bytes]()
    for table in read_waiting(crawl.root, Waiting.of(manifests), ["url_key", "url"]):
        pairs = zip(table["url_key"].to_pylist(), table["url"].to_pylist(), strict=True)
        waiting.update(key for key, url in pairs if matches(url))
    held = _held(crawl, manifests, HELD_STATES, lambda row: row["url_key"] not in waiting and is_released(row))
    return Released(len(held), len(waiting))


def release(crawl: CrawlDir, patterns: Sequence[str], now: datetime) -> int:
    """Keep some patterns for good, put the held URLs that match into the frontier, and return their number.

    It may run concurrently with a crawl, which reads the patterns and the frontier at its next step.
    """
    crawl.change_text(
        RELEASED, lambda text: "".join(f"{line}\n" for line in dict.fromkeys([*text.splitlines(), *patterns]))
    )
    is_released = _released_by(crawl, crawl.manifests(), patterns)
    return _release(crawl, now, HELD_STATES, is_released, False)


def release_allowed_urls(crawl: CrawlDir, traps: Traps, now: datetime) -> int:
    """Put the URLs held as traps that the settings allow into the frontier, and return their number."""
    if traps.detect and not traps.allow:
        return 0
    is_allowed = compile_allow_list(traps.allow) if traps.detect else lambda url: True
    return _release(crawl, now, [State.TRAPPED], lambda row: is_allowed(row["url"]), False)


def release_reopened_urls(crawl: CrawlDir, traps: Traps, now: datetime) -> int:
    """Put the held URLs of the templates that the last update step reopened into the frontier; return their number.

    The driver calls it after each update step, and at its start, for a program that was killed in between.
    """
    manifests = crawl.manifests()
    if not updated_with(manifests, REOPENED):
        return 0
    holds = _current_holds(crawl.root, manifests, traps.allow)
    return _release(crawl, now, [State.TRAPPED], lambda row: not holds(frontier_row(row, True)), True)


def updated_with(manifests: Sequence[Manifest], counter: str) -> bool:
    """Return whether the last step is the update step of a round, which has counted something."""
    step = next_step(manifests)
    updated = (m for m in manifests if (m.step, m.round) == ("update", step.round - 1))
    return step.kind == "fetch" and any(m.counters.get(counter) for m in updated)


def release_aliases(crawl: CrawlDir, aliases: Aliases, now: datetime) -> int:
    """Put the aliases that no rule holds back any more into the frontier, and return their number.

    So it is after `learn = false`, after `release` and `block`, which exempt URLs from rules, and in crawls of versions
    whose rules are not used any more. Rules that a round drops release their URLs within its update step.
    """
    known = known_rules(crawl, crawl.manifests())
    if aliases.learn and not known.exempt and not known.ignored:
        return 0
    is_released = _freed_by(crawl, known.used if aliases.learn else NO_RULES)
    return _release(crawl, now, [ALIAS], is_released, False)


def held_urls(crawl: CrawlDir, manifests: Sequence[Manifest]) -> list[Row]:
    """Return the rows of table urls of all URLs held by traps. Memory is bounded by their number."""
    return _held(crawl, manifests, [State.TRAPPED], lambda row: True)


def _released_by(crawl: CrawlDir, manifests: Sequence[Manifest], patterns: Sequence[str]) -> Callable[[Row], bool]:
    """Whether patterns release a row of urls: its URL matches, or it is an alias by a rule for URLs that match."""
    known, is_allowed = known_rules(crawl, manifests), compile_allow_list(patterns)
    exempt = Exempt((*known.exempt.patterns, *patterns))
    is_free_alias = _freed_by(crawl, KnownRules.of(known.rows.values(), exempt).used)
    return lambda row: is_allowed(row["url"]) or (row["state"] == ALIAS and is_free_alias(row))


def _freed_by(crawl: CrawlDir, rules: Rules) -> Callable[[Row], bool]:
    """Whether a row of an alias is none by some rules, and is not blocked."""
    blocks = read_blocks(crawl)
    return lambda row: is_free(row, rules) and not blocks.match(row["url"])


def _release(
    crawl: CrawlDir, now: datetime, states: Sequence[str], is_wanted: Callable[[Row], bool], is_without_news: bool
) -> int:
    """Commit a frontier of URLs in some states. They stay in their state until they have been visited."""
    manifests = crawl.manifests()
    free = _held(crawl, manifests, states, is_wanted)
    in_frontier = waiting_keys(crawl, manifests, free)
    rows = [frontier_row(row, is_without_news) for row in free if row["url_key"] not in in_frontier]
    return commit_frontier(crawl, manifests, rows, now)


def commit_frontier(crawl: CrawlDir, manifests: Sequence[Manifest], rows: Sequence[Row], now: datetime) -> int:
    """Commit rows of the next frontier, if there are any, and return their number."""
    if not rows:
        return 0
    with registered(crawl) as (claimed, stem):
        if file := write_frontier(claimed.root, next_step(manifests).frontier_round, rows, stem):
            ended, counters = iso(datetime.now(UTC)), {"released": len(rows)}
            manifest = Manifest("seeds", 0, "", (file,), counters, (), iso(now), ended)
            claimed.commit(manifest, f"-{uuid.uuid4().hex[:8]}")
    return len(rows)


def waiting_keys(crawl: CrawlDir, manifests: Sequence[Manifest], rows: Iterable[Row]) -> set[bytes]:
    """Return the keys of waiting URLs among some rows of urls; further ones are possible."""
    return {row["url_key"] for row in waiting_rows(crawl, manifests, rows)}


def waiting_rows(crawl: CrawlDir, manifests: Sequence[Manifest], rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows in the frontier of some rows of urls; further ones are possible."""
    wanted = _wanted({row["url_key"]: row["host"] for row in rows})
    for table in matching_waiting(crawl.root, Waiting.of(manifests), wanted):
        yield from table.to_pylist()


def _wanted(hosts: Mapping[bytes, str]) -> Wanted:
    """The rows of URLs by their keys; `hosts` are those of the keys."""
    keys = pa.table({"url_key": pa.array(hosts, KEY), "host": pa.array(hosts.values(), pa.string())})
    return Wanted.of(keys, "url_key", "host")


def newest_rows(
    crawl: CrawlDir, manifests: Sequence[Manifest], hosts: Mapping[bytes, str], columns: Sequence[str] = URLS.names
) -> dict[bytes, Row]:
    """Return the newest rows of urls of some keys, by key; `hosts` are those of the keys."""
    wanted = _wanted(hosts)
    rows = (
        row
        for file in files_of(manifests, "urls")
        for batch in matching_rows(crawl.root, file.path, URLS, wanted, columns)
        for row in batch.to_pylist()
        if row["url_key"] in hosts
    )
    return newest(rows, itemgetter("url_key"), lambda row: row["round"] or 0)


def _held(
    crawl: CrawlDir, manifests: Sequence[Manifest], states: Sequence[str], is_wanted: Callable[[Row], bool]
) -> list[Row]:
    """Return the newest rows of urls that are in some states, and wanted; not of aliases that no page links to."""
    files = [file for file in files_of(manifests, "urls") if any(map(file.counts.get, states))]
    hosts = {
        row["url_key"]: row["host"]
        for file in files
        for row in _rows_in(crawl.root, file.path, states)
        if (row["state"] != ALIAS or row["discovered_from"]) and is_wanted(row)
    }
    rows = newest_rows(crawl, manifests, hosts).values()
    return [row for row in rows if row["state"] in states and is_wanted(row)]


def _rows_in(root: str, path: str, states: Sequence[str]) -> Iterator[Row]:
    with open_parquet(root, path) as file:
        for group in groups_with(file, "state", sorted(states)):
            rows = file.read_row_group(group, [*_KEPT, "score", "discovered_from", "state", "reason"])
            yield from rows.filter(pc.is_in(rows["state"], pa.array(states, pa.string()))).to_pylist()


def _current_holds(root: str, manifests: Sequence[Manifest], allow: Sequence[str]) -> Holds:
    """Return the holds of the newest trap judgement of each host."""
    rows: dict[str, list[Row]] = {}
    forms: dict[str, set[int]] = {}
    for row in read_table(root, paths_of(manifests, "traps"), TRAPS).to_pylist():
        rows.setdefault(row["host"], []).append(row)
    for row in read_table(root, paths_of(manifests, "trap_samples"), TRAP_SAMPLES, ["host", "forms"]).to_pylist():
        forms.setdefault(row["host"], set()).update(unpack(row["forms"]))
    trapped = [tuple(TrappedHost(host, found, sorted(forms.get(host, ())))) for host, found in rows.items()]
    return Holds(trapped, compile_allow_list(allow))


_KEPT = ("url_key", "url", "host", "depth", "discovered_round", "failures", "kind", "sitemap", "foreign")


def frontier_row(row: Row, is_without_news: bool) -> Row:
    return {name: row.get(name) for name in _KEPT} | {
        "priority": row["score"],
        "reason": "new",
        "referrer": row["discovered_from"],
        "redirects": 0,
        "links_without_news": is_without_news,
    }
