"""Releases URLs held by traps: those that the settings or a command allow, and those whose templates are open again."""

import dataclasses
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ..transforms.frontier.files import write_frontier
from ..transforms.settings import Settings, Traps
from ..transforms.storage.beside import registered
from ..transforms.storage.crawl_dir import CrawlDir, Manifest, files_of, iso, next_step
from ..transforms.storage.key_scan import Wanted, groups_with, matching_rows
from ..transforms.storage.schemas import KEY, TRAP_SAMPLES, TRAPS, URLS
from ..transforms.storage.table_files import open_parquet, read_table
from ..transforms.storage.waiting import Left, Waiting, matching, read_waiting
from ..transforms.traps.allow_list import compile_allow_list
from ..transforms.traps.holds import Holds, TrappedHost, newest_by_key
from ..transforms.traps.judge import Row, State
from ..transforms.traps.novelty import unpack

RELEASED = "released.txt"
"""A file of the crawl directory: the patterns that `release` was given, one a line."""


class Released(NamedTuple):
    """The number of URLs that match a pattern."""

    held: int  # that a trap held: they are put into the frontier
    waiting: int  # in the frontier: their number per round is not limited any more


def with_released(crawl: CrawlDir, settings: Settings) -> Settings:
    """Return the settings with the patterns of `release` added to `traps.allow`."""
    patterns = released_patterns(crawl)
    if not patterns:
        return settings
    traps = dataclasses.replace(settings.traps, allow=[*settings.traps.allow, *patterns])
    return dataclasses.replace(settings, traps=traps)


def released_patterns(crawl: CrawlDir) -> list[str]:
    return crawl.read_text(RELEASED).splitlines() if crawl.exists(RELEASED) else []


def count_matches(crawl: CrawlDir, pattern: str) -> Released:
    """Return the number of held and of waiting URLs that a pattern matches."""
    manifests = crawl.manifests()
    matches = compile_allow_list([pattern])
    waiting = set[bytes]()
    for table in read_waiting(crawl.root, Waiting.of(manifests), ["url_key", "url"]):
        pairs = zip(table["url_key"].to_pylist(), table["url"].to_pylist(), strict=True)
        waiting.update(key for key, url in pairs if matches(url))
    held = _held(crawl, manifests, lambda row: matches(row["url"]) and row["url_key"] not in waiting)
    return Released(len(held), len(waiting))


def release(crawl: CrawlDir, patterns: Sequence[str], settings_digest: str, now: datetime) -> int:
    """Keep some patterns for good, put the held URLs that match into the frontier, and return their number.

    It may run concurrently with a crawl, which reads the patterns and the frontier at its next step.
    """
    crawl.change_text(
        RELEASED, lambda text: "".join(f"{line}\n" for line in dict.fromkeys([*text.splitlines(), *patterns]))
    )
    is_allowed = compile_allow_list(patterns)
    return _release(crawl, settings_digest, now, lambda row: is_allowed(row["url"]), False)


def release_allowed_urls(crawl: CrawlDir, settings: Traps, settings_digest: str, now: datetime) -> int:
    """Put the held URLs that the settings allow into the frontier, and return their number."""
    if settings.detect and not settings.allow:
        return 0
    is_allowed = compile_allow_list(settings.allow) if settings.detect else lambda url: True
    return _release(crawl, settings_digest, now, lambda row: is_allowed(row["url"]), False)


def release_reopened_urls(crawl: CrawlDir, settings: Traps, settings_digest: str, now: datetime) -> int:
    """Put the held URLs that match no trapped template any more into the frontier, and return their number."""
    holds = _current_holds(crawl, settings)
    return _release(crawl, settings_digest, now, lambda row: not holds(frontier_row(row, True)), True)


def held_urls(crawl: CrawlDir, manifests: Sequence[Manifest]) -> list[Row]:
    """Return the rows of table urls of all URLs held by traps. Memory is bounded by their number."""
    return _held(crawl, manifests, lambda row: True)


def _release(
    crawl: CrawlDir, settings_digest: str, now: datetime, is_free: Callable[[Row], bool], is_without_news: bool
) -> int:
    """Commit a frontier of the released URLs. They stay in state `trapped` until they have been visited."""
    manifests = crawl.manifests()
    free = _held(crawl, manifests, is_free)
    in_frontier = _waiting_keys(crawl, manifests, free)
    rows = [frontier_row(row, is_without_news) for row in free if row["url_key"] not in in_frontier]
    if not rows:
        return 0
    step = next_step(manifests)
    with registered(crawl) as (claimed, stem):
        if file := write_frontier(claimed.root, step.round + (step.kind == "update"), rows, stem):
            ended = iso(datetime.now(UTC))
            counters = {"released": len(rows)}
            manifest = Manifest("seeds", 0, settings_digest, (file,), counters, (), iso(now), ended)
            claimed.commit(manifest, f"-{uuid.uuid4().hex[:8]}")
    return len(rows)


def _waiting_keys(crawl: CrawlDir, manifests: Sequence[Manifest], rows: Sequence[Row]) -> set[bytes]:
    """Return the keys of waiting URLs among some rows of urls; further ones are possible."""
    if not rows:
        return set()
    keys = {"url_key": pa.array([row["url_key"] for row in rows], KEY), "host": [row["host"] for row in rows]}
    wanted, found = Wanted.of(pa.table(keys), "url_key", "host"), set[bytes]()
    waiting = Waiting.of(manifests)
    left = Left(crawl.root, waiting.left)
    for path in waiting.frontier:
        with open_parquet(crawl.root, path) as file:
            for table in matching(file, path, left.of(path), [wanted]):
                found.update(table["url_key"].to_pylist())
    return found


def _held(crawl: CrawlDir, manifests: Sequence[Manifest], is_wanted: Callable[[Row], bool]) -> list[Row]:
    files = [file for file in files_of(manifests, "urls") if file.counts.get(State.TRAPPED)]
    hosts = {
        row["url_key"]: row["host"] for file in files for row in _trapped_rows(crawl.root, file.path) if is_wanted(row)
    }
    if not hosts:
        return []
    keys = pa.table({"url_key": pa.array(hosts, KEY), "host": pa.array(hosts.values(), pa.string())})
    wanted = Wanted.of(keys, "url_key", "host")
    rows = [
        row
        for file in files_of(manifests, "urls")
        for batch in matching_rows(crawl.root, file.path, URLS, wanted)
        for row in batch.to_pylist()
        if row["url_key"] in hosts
    ]
    return [row for row in newest_by_key(rows).values() if row["state"] == State.TRAPPED]


def _trapped_rows(root: str, path: str) -> Iterator[Row]:
    with open_parquet(root, path) as file:
        for group in groups_with(file, "state", [State.TRAPPED.value]):
            rows = file.read_row_group(group, [*_KEPT, "score", "discovered_from", "state"])
            yield from rows.filter(pc.equal(rows["state"], State.TRAPPED.value)).to_pylist()


def _current_holds(crawl: CrawlDir, settings: Traps) -> Holds:
    """Return the holds of the newest trap judgement of each host."""
    manifests = crawl.manifests()
    rows: dict[str, list[Row]] = {}
    forms: dict[str, set[int]] = {}
    for row in read_table(crawl.root, [f.path for f in files_of(manifests, "traps")], TRAPS).to_pylist():
        rows.setdefault(row["host"], []).append(row)
    paths = [file.path for file in files_of(manifests, "trap_samples")]
    for row in read_table(crawl.root, paths, TRAP_SAMPLES, ["host", "forms"]).to_pylist():
        forms.setdefault(row["host"], set()).update(unpack(row["forms"]))
    trapped = [tuple(TrappedHost(host, found, sorted(forms.get(host, ())))) for host, found in rows.items()]
    return Holds(trapped, compile_allow_list(settings.allow))


_KEPT = ("url_key", "url", "host", "depth", "discovered_round", "failures", "kind", "sitemap", "foreign")


def frontier_row(row: Row, is_without_news: bool) -> Row:
    return {name: row.get(name) for name in _KEPT} | {
        "priority": row["score"],
        "reason": "new",
        "referrer": row["discovered_from"],
        "redirects": 0,
        "links_without_news": is_without_news,
    }
