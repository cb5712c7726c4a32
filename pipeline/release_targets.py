"""Passes the first own link to a redirect on to a target that an earlier round has seen: nothing is requested twice.

The target is in another partition than the redirect, so the update step that finds the link cannot change its state.
"""

from collections.abc import Sequence
from datetime import datetime

from ..transforms.directory.crawl_dir import CrawlDir, Manifest, files_of, last_updated, paths_of
from ..transforms.frontier.link_targets import CLAIMED, is_own_redirect
from ..transforms.tables.key_scan import Wanted, matching_rows
from ..transforms.tables.schemas import URLS, VISITS, Row
from ..transforms.tables.table_files import read_table
from ..transforms.traps.discovery import from_elsewhere
from ..transforms.traps.template_rows import State
from ..transforms.urls.canonical import host, is_foreign, url_key
from ..transforms.urls.filters import MAX_REDIRECTS
from .release_held import commit_frontier, frontier_row, newest_rows, updated_with, waiting_rows


def release_targets(crawl: CrawlDir, now: datetime) -> int:
    """Put the targets of redirects that the last update step found linked by their own site into the frontier.

    Those are targets that wait, or that a trap holds, as other sites' links only; they wait as own now. Chains are
    followed; a redirect whose target no table knows, as its limit was reached, waits to be visited again. The driver
    calls it after each update step, and at its start, for a program that was killed in between. Returns their number.
    """
    manifests = crawl.manifests()
    if not updated_with(manifests, CLAIMED):
        return 0
    hops = [(row, row["redirects"] or 0) for row in _claimed(crawl.root, manifests, last_updated(manifests))]
    wanted: dict[bytes, Row] = {}
    for _ in range(MAX_REDIRECTS):
        hops = [hop for hop in hops if not is_foreign(hop[0]["redirect_to"], hop[0]["url"])]
        targets = newest_rows(
            crawl, manifests, {url_key(url): host(url) for url in (row["redirect_to"] for row, _ in hops)}
        )
        following = list[tuple[Row, int]]()
        for row, redirects in hops:
            target = targets.get(url_key(row["redirect_to"]))
            if target is None:
                wanted[row["url_key"]] = frontier_row(row, False) | {"redirects": redirects, "reason": "recrawl"}
            elif from_elsewhere(target) and target["state"] in ("due", State.TRAPPED):
                way = {"redirects": redirects + 1, "referrer": row["url"], "due_at": target["next_fetch_at"]}
                wanted[target["url_key"]] = frontier_row(target, False) | way
            elif from_elsewhere(target) and target["state"] == "redirected" and target["redirect_to"]:
                following.append((target, redirects + 1))
        hops = following
    waiting = {row["url_key"] for row in waiting_rows(crawl, manifests, wanted.values()) if not from_elsewhere(row)}
    rows = [row | {"foreign": False} for key, row in wanted.items() if key not in waiting]
    return commit_frontier(crawl, manifests, rows, now)


def _claimed(root: str, manifests: Sequence[Manifest], round_: int) -> list[Row]:
    """Return the rows of urls that the update step of a round has counted as CLAIMED."""
    files = [file for file in files_of(manifests, "urls") if file.counts.get(CLAIMED)]
    of_round = Wanted("round", [round_])
    tables = [table for file in files for table in matching_rows(root, file.path, URLS, of_round)]
    rows = [row for table in tables for row in table.to_pylist() if is_own_redirect(row)]
    visits = paths_of((m for m in manifests if (m.step, m.round) == ("fetch", round_)), "visits")
    visited = set(read_table(root, visits, VISITS, ["url_key"])["url_key"].to_pylist())
    return [row for row in rows if row["url_key"] not in visited]
