"""Let go of what traps hold, once the settings say so: the URLs go into the next frontier."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..transforms.settings import Traps
from ..transforms.storage.bloom import Bloom
from ..transforms.storage.crawl_dir import CrawlDir, Manifest, files_of, frontier_files, iso, next_step
from ..transforms.storage.key_scan import matching_rows
from ..transforms.storage.schemas import FRONTIER, KEY, URLS
from ..transforms.storage.table_files import TableWriter, open_parquet, read_table
from ..transforms.traps.holds import newest_by_key
from ..transforms.traps.judge import State, compile_allow_list


def release_held_urls(crawl: CrawlDir, settings: Traps, settings_digest: str, now: datetime) -> int:
    """Put the held URLs that are allowed by now into the frontier, committed at once; how many there were.

    They stay in state `trapped` until they have been visited. Memory is bounded by what is let go.
    """
    manifests = crawl.manifests()
    is_free: Callable[[str], bool] = compile_allow_list(settings.allow) if settings.detect else lambda url: True
    files = [file for file in files_of(manifests, "urls") if file.counts.get(State.TRAPPED)]
    if not files or (settings.detect and not settings.allow):
        return 0
    keys = {key for file in files for key in _held_keys(crawl.root, file.path, is_free)}
    waiting = [file.path for file in frontier_files(manifests)]
    keys -= set(read_table(crawl.root, waiting, FRONTIER, ["url_key"])["url_key"].to_pylist())
    bloom = Bloom(len(keys))
    bloom.add(pa.array(sorted(keys), KEY))
    rows = [
        row
        for file in files_of(manifests, "urls")
        for batch in matching_rows(crawl.root, file.path, URLS, "url_key", bloom)
        for row in batch.to_pylist()
        if row["url_key"] in keys
    ]
    free = [row for row in newest_by_key(rows).values() if row["state"] == State.TRAPPED]
    if not free:
        return 0
    step = next_step(manifests)
    round_ = step.round + (step.kind == "update")
    writer = TableWriter(crawl.root, "frontier", round_)
    writer.write_rows(sorted(map(_frontier_row, free), key=lambda row: row["url_key"]), {"new": len(free)})
    if file := writer.close():
        ended = iso(datetime.now(UTC))
        counters = {"released": len(free)}
        manifest = Manifest("seeds", 0, settings_digest, (file,), counters, (), iso(now), ended)
        crawl.commit(manifest, f"-{uuid.uuid4().hex[:8]}")
    return len(free)


def _held_keys(root: str, path: str, is_free: Callable[[str], bool]) -> list[bytes]:
    keys: list[bytes] = []
    with open_parquet(root, path) as file:
        for group in range(file.num_row_groups):
            rows = file.read_row_group(group, ["url_key", "url", "state"])
            held = rows.filter(pc.equal(rows["state"], State.TRAPPED.value)).to_pylist()
            keys += [row["url_key"] for row in held if is_free(row["url"])]
    return keys


def _frontier_row(row: dict[str, Any]) -> dict[str, Any]:
    kept = ("url_key", "url", "host", "depth", "discovered_round", "failures", "kind", "sitemap")
    return {name: row[name] for name in kept} | {
        "priority": row["score"],
        "reason": "new",
        "referrer": row["discovered_from"],
        "redirects": 0,
        "links_without_news": False,
    }
