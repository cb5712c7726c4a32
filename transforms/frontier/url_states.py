"""Advances the state of each URL by a round: its visit, the links to it, and its place in the next frontier."""

import math
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from operator import itemgetter
from typing import NamedTuple

from ..aliases.apply import ALIAS, Classes, stand_ins
from ..aliases.rules import NO_RULES, Rules
from ..aliases.sample import Sample
from ..duplicates.digest import are_comparable
from ..outcomes import DENIED_SEARCH, REQUESTED, RETRIED, Outcome
from ..settings import Limits
from ..tables.newest import newest
from ..tables.schemas import URLS, Row
from ..tables.sitemap_terms import EXTERNAL, PROBE, with_news
from ..urls.canonical import url_key
from .link_targets import discovered, found_again, merge_candidates, precedence

_STATES = {
    Outcome.FETCHED: "fetched",
    Outcome.NOT_MODIFIED: "fetched",
    Outcome.REDIRECTED: "redirected",
    Outcome.GONE: "gone",
    Outcome.GONE_BY_CONTENT: "gone",
    Outcome.DENIED_ROBOTS: "denied",
}

DEAD_HOST = "dead_host"
"""Reason of a URL that failed without a request, after too many consecutive failures of its host."""

_PAGE = (Outcome.FETCHED, Outcome.NOT_MODIFIED)
_UNINDEXED = (Outcome.DENIED_META, DENIED_SEARCH)
_PERMANENT = (301, 308)  # RFC 9110, 15.4: the target replaces this URL permanently

_FIRST_WAIT = timedelta(seconds=2)
FIRST_WAIT_FOR_ORIGIN = timedelta(minutes=5)  # as long as an answer about its robots.txt is used
LONGEST_WAIT = timedelta(days=1)


def retry_at(failures: int, visited_at: datetime, first: timedelta = _FIRST_WAIT) -> datetime:
    """The time of the next attempt: the delay doubles with each failure, up to a day. Host backoff is separate."""
    return visited_at + min(first * 2 ** min(failures - 1, 30), LONGEST_WAIT)


class _Tries(NamedTuple):
    """How often a URL has failed, and whether it is tried again."""

    failures: int  # in a row
    again: bool
    due_at: datetime | None = None  # None: as soon as its host may be requested
    is_host_dead: bool = False  # it is given up because of its host


def after_visit(url: Row, fact: Row, limits: Limits, follows: bool = True) -> tuple[Row, Row | None]:
    """(the URL's new row, its row in the next frontier if it is to be visited again, never unless `follows`).

    A URL deferred because of its host does not count as tried; it fails once the host has failed too often in a row.
    If the robots.txt of its origin alone cannot be fetched, and the host answers otherwise, it counts as tried: nothing
    else would ever end a link to the other scheme of a host that has only one. A URL that redirects to another spelling
    of itself is visited under that spelling, and a page whose 304 takes it out of the index as it is now.
    """
    outcome = Outcome(fact["outcome"])
    tries = _tries(url["failures"], outcome, fact, limits)
    is_denied_unread = outcome is Outcome.NOT_MODIFIED and bool(fact["denied_meta"] or fact["denied_search"])
    again = follows and (tries.again or fact["respelled"] is not None or is_denied_unread)
    state = "due" if again else "probed" if url.get("kind") == PROBE else _STATES.get(outcome, "failed")
    changed = url | {
        "state": state,
        "failures": tries.failures,
        "next_fetch_at": tries.due_at if follows else None,
        "reason": _reason(outcome, fact, tries),
        "url": fact["respelled"] or fact["url"],
        "joined_to": _joined_to(outcome, fact),
    }
    changed |= {name: fact[name] for name in ("redirects", "foreign", "kind", "redirect_to")}
    changed |= compared(url, fact)
    if outcome in REQUESTED:
        changed |= {"fetches": url["fetches"] + 1, "last_fetched_at": fact["fetched_at"], "last_status": fact["status"]}
    elif fact["kind"] == EXTERNAL and not again:  # its age decides when it is asked again, also if no request was sent
        changed |= {"last_fetched_at": fact["fetched_at"], "last_status": None}
    if outcome is Outcome.FETCHED:
        changed |= {name: fact[name] for name in ("digest", "etag", "last_modified")}
        changed["changes"] = url["changes"] + _has_changed(url["digest"], fact["digest"])
    if outcome in _PAGE:
        changed["fade_s"] = None
    return changed, _waiting(outcome, fact, changed) if again else None


def _tries(failures: int, outcome: Outcome, fact: Row, limits: Limits) -> _Tries:
    """The tries of a URL that had so many `failures` before this visit."""
    is_of_origin = outcome is Outcome.UNREACHABLE_ROBOTS and fact["host_failures"] == 0
    if outcome in (Outcome.DEFERRED, Outcome.UNREACHABLE_ROBOTS) and not is_of_origin:
        is_host_dead = (fact["host_failures"] or 0) >= limits.max_host_tries
        return _Tries(failures, again=not is_host_dead, is_host_dead=is_host_dead)
    if outcome not in RETRIED:
        return _Tries(0 if outcome in REQUESTED else failures, again=False)
    if failures + 1 >= limits.max_tries:
        return _Tries(failures + 1, again=False)
    first_wait = FIRST_WAIT_FOR_ORIGIN if is_of_origin else _FIRST_WAIT
    return _Tries(failures + 1, again=True, due_at=retry_at(failures + 1, fact["fetched_at"], first_wait))


def _reason(outcome: Outcome, fact: Row, tries: _Tries) -> str:
    if fact["denied_meta"]:
        return Outcome.DENIED_META.value
    if fact["denied_search"]:
        return DENIED_SEARCH
    return DEAD_HOST if tries.is_host_dead else outcome.value


def _joined_to(outcome: Outcome, fact: Row) -> bytes | None:
    """The key of the URL that replaces one for good; none if the redirect is not followed, or is a respelling."""
    is_permanent = outcome is Outcome.REDIRECTED and fact["status"] in _PERMANENT
    is_followed = fact["kind"] != EXTERNAL and fact["respelled"] is None
    return url_key(fact["redirect_to"]) if is_permanent and is_followed and fact["redirect_to"] else None


def _waiting(outcome: Outcome, fact: Row, url: Row) -> Row:
    """The row in the frontier of a URL that is visited again; `url` is its row after the visit."""
    reason = "deferred" if outcome is Outcome.DEFERRED else "retry"
    row = {name: fact[name] for name in ("url_key", "url", "host", "depth", "priority", "referrer", "redirects")}
    row |= remembered(url) | {name: url.get(name) for name in ("kind", "sitemap")}
    row |= {name: fact[name] for name in ("links_without_news", "foreign", "discovered_round")}
    row |= {"reason": reason, "due_at": url["next_fetch_at"], "failures": url["failures"]}
    if fact["respelled"] is not None:
        row |= {"url": fact["respelled"], "reason": "new", "redirects": fact["redirects"] + 1}
    return row


def waits_already(
    reason: str | None, due_at: datetime | None, outcome: Outcome, host_failures: int, limits: Limits
) -> bool:
    """Whether a row of the frontier says already that its URL waits without a request, for what this outcome says.

    Such rows are those of `after_visit`. A further visit of this kind changes nothing, so it has no row of its own:
    until the host has failed so often that its URLs fail, and unless the failure is that of the URL's origin alone.
    """
    if host_failures >= limits.max_host_tries:
        return False
    if outcome is Outcome.DEFERRED:
        return reason == "deferred"
    return outcome is Outcome.UNREACHABLE_ROBOTS and reason == "retry" and due_at is None and host_failures > 0


def compared(url: Row, fact: Row) -> Row:
    """The columns of urls that count whether a page has changed between its last two visits; empty if unknown.

    A 304 or an equal digest means no change. Visits after a failure and visits without a digest are not counted, nor
    are those that seem to be earlier than the last one, or whose page was read by another version at the last one.
    """
    outcome, last = fact["outcome"], url["last_fetched_at"]
    status = url["last_status"] or 0
    is_page = 200 <= status < 300 or status == 304
    if outcome not in _PAGE or url["digest"] is None or last is None or not is_page:
        return {}
    seconds = (fact["fetched_at"] - last).total_seconds()
    if seconds <= 0 or (outcome == Outcome.FETCHED and fact["digest"] is None):
        return {}
    if outcome == Outcome.FETCHED and not are_comparable(url["digest"], fact["digest"]):
        return {}
    if outcome == Outcome.NOT_MODIFIED or fact["digest"] == url["digest"]:
        name, sum_, value = "unchanged", "unchanged_s", seconds
    else:
        name, sum_, value = "changed", "changed_log_s", math.log(seconds)
    return {name: (url.get(name) or 0) + 1, sum_: (url.get(sum_) or 0.0) + value}


def _has_changed(before: bytes | None, after: bytes | None) -> bool:
    """Whether a page is known to have changed by its digests."""
    return before is not None and before != after and (after is None or are_comparable(before, after))


def remembered(url: Row) -> Row:
    """The validators and the digest for the next visit of a URL; none for a near duplicate, NOINDEX and `search=no`.

    Nor are there any for a page that was gone.
    Without them the page is fetched and judged as on a first visit, so that it can replace a representative that has
    changed, and is indexed once that is permitted, even if its content is the same.
    """
    is_unindexed = url.get("near_duplicate_of") is not None or url.get("reason") in _UNINDEXED
    is_unindexed = is_unindexed or url.get("fade_s") is not None
    return {name: None if is_unindexed else url.get(name) for name in ("etag", "last_modified", "digest")}


def imported(fact: Row) -> Row:
    """The row of urls, before its visit, of a URL that no round has found: an archive had it."""
    url = {name: fact[name] for name in ("url_key", "url", "host", "depth", "kind", "sitemap", "discovered_round")}
    counted = {"score": fact["priority"], "fetches": 0, "failures": 0, "changes": 0}
    return dict.fromkeys(URLS.names) | url | counted | {"state": "due", "discovered_from": fact["referrer"]}


def advance(
    candidates: Iterable[Row], facts: Iterable[Row], earlier: Iterable[Row], frontier: Iterable[Row], *,
    near: Iterable[Row] = (), round_: int, limits: Limits,
    rules: Rules = NO_RULES, forms: Callable[[str], set[str]] = NO_RULES.forms, sample: Sample | None = None,
    max_depth: int | None = None, follows: bool = True,
) -> tuple[list[Row], list[Row]]:  # fmt: skip
    """(changed rows of urls, the next frontier's rows) of one partition, each sorted by key.

    `earlier` contains the rows of urls of the candidates and of the visited URLs (others are ignored; the newest row of
    a key counts), `frontier` their rows of the frontier, `near` the verdicts on visited URLs. A row of the frontier
    that does not change is in the result as the same object: a URL without a visit stays in the frontier.
    URLs that are aliases by `rules` get state `alias`, except for a `sample`, which counts them; all rows of such URLs
    must be in one partition. `earlier` and `frontier` have the rows of the `forms` of these URLs too. `max_depth` is
    the limit of the crawl, if it has one. Unless the round `follows` what it finds, no URL becomes due.
    """
    known = newest(earlier, itemgetter("url_key"))
    changed: dict[bytes, Row] = {}
    due: dict[bytes, Row] = {}
    visited = set()
    representatives = {row["url_key"]: row["near_duplicate_of"] for row in near}
    for fact in facts:
        key = fact["url_key"]
        visited.add(key)
        changed[key], again = after_visit(known.get(key) or imported(fact), fact, limits, follows)
        if fact["outcome"] == Outcome.FETCHED:
            changed[key]["near_duplicate_of"] = representatives.get(key)
        if again:
            due[key] = again
    for row in frontier:
        key = row["url_key"]
        if key not in visited and (key not in due or precedence(row) < precedence(due[key])):
            due[key] = row
    found = merge_candidates([*candidates, *stand_ins(changed.values())]) if follows else {}
    classes = Classes(rules, known, changed, due, round_, forms, sample or Sample(b"", {}))
    for key, candidate in found.items():
        if classes.hold(candidate):
            continue
        url = changed.get(key) or known.get(key)
        if url is None or url["state"] == ALIAS:
            changed[key], due[key] = discovered(candidate, round_)
            continue
        if (news := with_news(url, candidate)) is not url:
            changed[key] = news
            if news["sitemap"] != url["sitemap"]:
                changed[key] = news | {"state": "due"}
                due[key] = due.get(key, discovered(candidate, round_)[1]) | {"sitemap": news["sitemap"]}
        if again_found := found_again(candidate, changed.get(key, url), due.get(key), max_depth):
            changed[key], waits = again_found
            due |= {key: waits} if waits else {}
    for candidate in classes.drawn():
        changed[candidate["url_key"]], due[candidate["url_key"]] = discovered(candidate, round_)
    rows = [changed[key] | {"round": round_} for key in sorted(changed)]
    return rows, [due[key] for key in sorted(due)]
