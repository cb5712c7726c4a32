"""Rounds of a crawl of one site as trap detection sees them: the real judgement, without HTTP, Beam, files and time.

    crawled = crawl_rounds(site, rounds=7)
    crawled.visited[1]  # the paths of the second round

Pages are parsed, compared with earlier pages, judged, held and released by the functions that the update step calls,
and chosen by those of the fetch step. Aliases are not learned.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from beamtrawl.pipeline.release_held import frontier_row
from beamtrawl.transforms.documents.found_links import links_column
from beamtrawl.transforms.documents.page_yield import yield_rows
from beamtrawl.transforms.documents.parse_visits import fact_row, judged, parse_batch, probe_page
from beamtrawl.transforms.duplicates import minhash
from beamtrawl.transforms.frontier.selection import Due, choose
from beamtrawl.transforms.frontier.trap_budgets import Budgets
from beamtrawl.transforms.frontier.url_states import advance
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.parsing.html_links import FOLLOWED_KINDS
from beamtrawl.transforms.parsing.registry import kinds_of
from beamtrawl.transforms.settings import Settings
from beamtrawl.transforms.tables.schemas import FRONTIER, URLS
from beamtrawl.transforms.tables.sitemap_terms import PROBE
from beamtrawl.transforms.traps.allow_list import compile_allow_list
from beamtrawl.transforms.traps.discovery import Known
from beamtrawl.transforms.traps.holds import Holds, count_queues, hold
from beamtrawl.transforms.traps.judge import queues_of
from beamtrawl.transforms.traps.news import Duplicates
from beamtrawl.transforms.traps.novelty import unpack
from beamtrawl.transforms.traps.template_rows import State, newest_by_template
from beamtrawl.transforms.traps.watch_host import Watched, watch_host
from beamtrawl.transforms.urls.canonical import canonicalize, host, url_key
from beamtrawl.transforms.urls.filters import UrlFilter
from tests.support.web import OTHERWISE, Page, answer_of, status

Row = dict[str, Any]

HOST = "a.test"
_NOW = datetime(2026, 11, 20, tzinfo=UTC)
_SETTINGS = Settings()
_KIND_NAMES = tuple(_SETTINGS.documents.kinds)
_KINDS = kinds_of(_KIND_NAMES)
_ALLOWED = compile_allow_list(())


class Crawled(NamedTuple):
    visited: list[list[str]]  # paths, by round
    closed: set[str]  # templates that are throttled or trapped
    held: set[str]  # paths
    waiting: set[str]  # paths in the frontier


@dataclasses.dataclass
class _Contents:
    """The contents of all pages so far, as exact and near duplicates know them."""

    owners: dict[bytes, bytes] = dataclasses.field(default_factory=dict)  # keys of URLs by digest
    keys: list[bytes] = dataclasses.field(default_factory=list)  # of URLs, by position of their signature
    signatures: np.ndarray = dataclasses.field(default_factory=lambda: np.empty((0, 0), np.uint8))

    def copied(self, key: bytes, digest: bytes) -> bytes | None:
        """The URL of the page that a page is a copy of."""
        owner = self.owners.setdefault(digest, key)
        return owner if owner != key else None

    def resembled(self, key: bytes, signature: bytes | None) -> bytes | None:
        """The URL of the page that a page is a near duplicate of."""
        if signature is None:
            return None
        mine, count = np.frombuffer(signature, np.uint8), len(self.keys)
        if count:
            is_like = minhash.similarities(mine, self.signatures[:count]) >= _SETTINGS.documents.similarity
            if is_like.any():
                return self.keys[int(is_like.argmax())]
        if count == len(self.signatures):
            self.signatures = np.resize(self.signatures if count else mine, (2 * count + 1, len(mine)))
        self.signatures[count] = mine
        self.keys.append(key)
        return None


def crawl_rounds(
    site: Mapping[str, Page],
    rounds: int,
    linked: Sequence[str] = (),
    listed: Sequence[str] = (),
    secret: bytes = b"key",
) -> Crawled:
    """Rounds of a crawl from the home page of a site, until its frontier is empty or `rounds` is reached.

    In the first round another site is found to link the paths `linked`, and its own sitemap to list those `listed`.
    """
    url_filter = UrlFilter(_SETTINGS.scope, frozenset([HOST]), _KINDS.extensions)
    home = {"url_key": url_key(f"http://{HOST}/"), "url": f"http://{HOST}/", "host": HOST, "depth": 0}
    counts = {"fetches": 0, "failures": 0, "changes": 0}
    known = {home["url_key"]: dict.fromkeys(URLS.names) | home | counts | {"state": "due", "score": 1.0, "round": 0}}
    seed = {"priority": 1.0, "reason": "seed", "redirects": 0, "failures": 0, "discovered_round": 1}
    frontier = [dict.fromkeys(FRONTIER.names) | home | seed]
    traps, samples, contents = list[Row](), list[Row](), _Contents()
    queues = list[Row]()
    visited: list[list[str]] = []
    for round_ in range(1, rounds + 1):
        forms = {form for row in samples for form in unpack(row["forms"])}
        due = [Due(*(row.get(name) for name in Due._fields[:-1])) for row in frontier]
        budgets = Budgets(Known(traps, forms), _ALLOWED, secret, queues)
        chosen = choose(due, _SETTINGS.limits.max_pages_per_host_per_round, budgets.admit)
        if not chosen:
            break
        visits = [_visit(one, site, round_) for one in chosen]
        visited.append([_path(one.url) for one in chosen])
        watched, facts, candidates = _judge(visits, url_filter, contents, traps, samples, queues, round_, secret)
        if round_ == 1:
            candidates += [_linked(path, "http://b.test/", True) for path in linked]
            candidates += [_linked(path, f"http://{HOST}/sitemap.xml", False) for path in listed]
        traps += watched.traps
        samples += watched.trap_samples
        earlier = list(known.values())
        changed, waiting = advance(candidates, facts, earlier, frontier, round_=round_, limits=_SETTINGS.limits)
        holds = Holds([tuple(watched.trapped)] if watched.trapped else [], _ALLOWED)
        changed, frontier = hold(changed, waiting, earlier, holds, round_)
        kept = {row["url_key"] for row in frontier}
        counts = count_queues(frontier, holds)
        held_now = count_queues([row for row in waiting if row["url_key"] not in kept], holds)
        queues = [
            {"template": name[1], "kind": name[2], "round": round_, "waiting": counts[name], "held": held_now[name]}
            for name in {*counts, *held_now}
        ]
        known |= {row["url_key"]: dict.fromkeys(URLS.names) | row for row in changed}
        if watched.reopened:
            keys = {row["url_key"] for row in frontier}
            held = [row for row in known.values() if row["state"] == State.TRAPPED and row["url_key"] not in keys]
            frontier += [row for row in (frontier_row(one, True) for one in held) if not holds(row)]
    closed = {name for (name, _), row in newest_by_template(traps).items() if name and row["state"] != State.OPEN}
    trapped = {_path(row["url"]) for row in known.values() if row["state"] == State.TRAPPED}
    return Crawled(visited, closed, trapped, {_path(row["url"]) for row in frontier})


def _judge(
    visits: list[Row], url_filter: UrlFilter, contents: _Contents, traps: Sequence[Row], samples: Sequence[Row],
    queues: Sequence[Row], round_: int, secret: bytes,
) -> tuple[Watched, list[Row], list[Row]]:  # fmt: skip
    """(what `watch` finds, facts, candidates) of a round's visits."""
    copies, near = dict[bytes, bytes](), dict[bytes, bytes]()
    seen, facts, found = [], [], []
    parsed = list(parse_batch(visits, "robot", _KIND_NAMES))
    rows = links_column(parsed, url_filter, FOLLOWED_KINDS | _KINDS.link_kinds).to_pylist()
    for (visit, page, _), links in zip(parsed, rows, strict=True):
        found.append((visit, page, links))
        facts.append(fact_row(visit, page, "robot") | {"respelled": None})
        seen.append((visit, probe_page(visit, "robot", _KIND_NAMES) if visit["kind"] == PROBE else page))
        if page is None:
            continue
        key = visit["url_key"]
        if owner := contents.copied(key, page.digest):
            copies[key] = owner
        elif like := contents.resembled(key, judged(visit["url"], page, True).get("signature")):
            near[key] = like
    waiting = queues_of(queues, round_ - 1)
    watched = watch_host(
        HOST, yield_rows(seen), Duplicates(copies, near), traps, samples, waiting, _ALLOWED, round_, secret
    )
    stale, gone = set(watched.stale), set(watched.gone)
    facts = [fact | {"outcome": Outcome.GONE_BY_CONTENT} if fact["url_key"] in gone else fact for fact in facts]
    candidates = [
        {"url_key": link["target_key"], "url": link["target_url"], "host": host(link["target_url"])}
        | {name: link[name] for name in ("depth", "redirects")}
        | {"score": 0.001, "referrer": visit["url"], "kind": None, "sitemap": None, "sitemap_lastmod": None}
        | {"links_without_news": visit["url_key"] in stale if page else bool(visit["links_without_news"])}
        | {"foreign": bool(visit["foreign"]) and link["kind"] == "redirect"}
        for visit, page, links in found
        for link in links
        if link["rejected"] is None and visit["url_key"] not in gone
    ]
    probes = [dict.fromkeys(("sitemap", "sitemap_lastmod", "links_without_news")) | row for row in watched.probes]
    return watched, facts, candidates + probes


def _linked(path: str, referrer: str, is_foreign: bool) -> Row:
    url = f"http://{HOST}{path}"
    row = {"url_key": url_key(url), "url": url, "host": HOST, "depth": 1, "redirects": 0, "score": 0.001}
    row |= {"referrer": referrer, "kind": None, "sitemap": None, "sitemap_lastmod": None}
    return row | {"links_without_news": False, "foreign": is_foreign}


def _visit(due: Due, site: Mapping[str, Page], round_: int) -> Row:
    """A row of table visits: a URL of the frontier, requested."""
    answer = answer_of(site.get(_path(due.url), site.get(OTHERWISE, status(404))), {})
    headers = {name.lower(): value for name, value in answer.headers}
    media_type = headers.get("content-type", "").partition(";")[0]
    outcome = Outcome.GONE if answer.status in (404, 410) else Outcome.FETCHED
    if "location" in headers:
        outcome = Outcome.REDIRECTED
    elif outcome == Outcome.FETCHED and media_type not in _KINDS.media_types:
        outcome = Outcome.UNWANTED_TYPE
    kept = ("url_key", "url", "host", "depth", "referrer", "priority", "redirects", "discovered_round", "kind")
    return {name: getattr(due, name) for name in (*kept, "links_without_news", "foreign")} | {
        "round": round_,
        "fetched_at": _NOW,
        "outcome": outcome,
        "status": answer.status,
        "redirect_to": canonicalize(headers["location"], due.url) if "location" in headers else None,
        "media_type": media_type,
        "headers": [{"name": name, "value": value} for name, value in answer.headers],
        "body": answer.body,
        "truncated": False,
        "host_failures": 0,
        "attempt": 1,
        "digest_before": None,
        "sitemap": None,
    }


def _path(url: str) -> str:
    return "/" + url.split("/", 3)[3]
