"""Says what a record means: the conclusion in one line, and the evidence below it. Pure functions."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from ...transforms.frontier.freshness.change_rate import DAY
from ...transforms.frontier.revisit_plan import FADING, OBSERVED, host_rate
from ...transforms.outcomes import Outcome
from ...transforms.rights.signals import AI_TRAIN, NO
from ...transforms.rights.tdm_rules import concluded
from ...transforms.rights.usage import Usage
from ...transforms.robots.rules import Verdict
from ...transforms.tables.schemas import Row
from ...transforms.tables.sitemap_terms import EXTERNAL, REQUISITE
from ...transforms.traps.template_rows import State, results_of
from ..state.host_waits import why
from ..state.outcome_words import MEANINGS, status_words
from ..terminal.units import counted
from .url_record import UrlRecord
from .url_tables import MOST

_RELATIONS = {
    "duplicate_of": "its content is that of",
    "near_duplicate_of": "its content is nearly that of",
    "same_content_as": "another site has the same content (neither excludes the other):",
    "joined_to": "it is represented by",
}
WAITS = {
    "seed": "a seed, not visited yet",
    "new": "new, not visited yet",
    "deferred": "not visited yet, because earlier rounds had no time or room for it",
    "retry": "to be tried again after a failed visit",
    "recrawl": "to be visited again",
}
FAILED = {
    Outcome.DENIED_ROBOTS.value: "robots.txt denies it",
    Outcome.GONE.value: "the server says that there is no such page (404 or 410)",
    Outcome.DENIED_META.value: "the page asks not to be indexed",
    "dead_host": "its host failed too often in a row",
}


def conclusion(record: UrlRecord, now: datetime) -> str:
    """One line: where the URL is now, and why."""
    if record.block:
        return (
            f"blocked by {record.block['pattern']} since {_time(datetime.fromisoformat(record.block['since']))}:"
            " it is not requested, and searches do not show it"
        )
    if record.state is None:
        return _unknown(record)
    state, reason = record.state["state"], record.state["reason"]
    if state == "due" or (state in ("alias", State.TRAPPED) and record.frontier):
        return _waiting(record, now)
    if state == State.TRAPPED:
        names = ", ".join(row["template"] for row in record.traps)
        return (
            f"held: its template looks like a trap ({names or reason}); beamtrawl release DIR HOST/PATTERN releases it"
        )
    if state == "alias":
        target = record.copies.get("joined_to") or _last(record.aliases)
        if record.visits:
            return f"fetched in round {record.visits[-1]['round']}; represented by {target}, of which it is an alias"
        return f"not fetched: an alias of {target}; beamtrawl seeds add DIR URL has it fetched"
    if state == "redirected":
        last = next((visit["redirect_to"] for visit in reversed(record.visits) if visit["redirect_to"]), None)
        return f"redirects to {last}{_as_lesser(record) and ','}{_as_lesser(record)}"
    if state in ("failed", "gone", "denied"):
        meaning = f" ({MEANINGS[reason]})" if reason in MEANINGS else ""
        why = FAILED.get(reason) or f"its last visit ended as {reason}{meaning}"
        as_what = _as_lesser(record)
        return f"not in the index{as_what and ','}{as_what}: {why}"
    return _fetched(record)


def _unknown(record: UrlRecord) -> str:
    """What would happen to a URL that is in no table of URLs."""
    if record.meant and not record.referrers:
        return f"not in the crawl; without the punctuation at its end, it is: {record.meant}"
    if record.rejected:
        where_found = (
            f"found in {counted(record.referrers, 'page')}, but " if record.referrers else "never found; it would be "
        )
        return f"not in the crawl: {where_found}rejected: {record.rejected_because}"
    if record.aliases:
        return f"not in the crawl under this URL: it is known by {_last(record.aliases)}"
    if record.referrers and not record.followed:
        reasons = list(dict.fromkeys(link["not_followed"] for link in record.links))
        return f"not in the crawl: none of the links to it is followed ({'; '.join(reasons)})"
    if record.referrers:
        return (
            "not in the crawl: when it was found, a rule of [scope] or the limit of redirects rejected it; by the"
            " settings of now it would be accepted (beamtrawl seeds add DIR URL adds it)"
        )
    if record.robots and not record.robots["allows"]:
        return "not in the crawl: never found; robots.txt would deny it"
    if record.traps:
        return "not in the crawl: never found; its template looks like a trap, so it would wait or be held"
    return "not in the crawl: no page links to it; if a page did, it would be fetched"


def _waiting(record: UrlRecord, now: datetime) -> str:
    row, host, as_what = record.frontier, record.hosts, _as_lesser(record)
    if row is None:
        return f"waits for its visit{as_what}; the running round has taken it, or will"
    due_at, waits = row["due_at"], f"waits in the frontier{as_what} ({WAITS[row['reason']]})"
    if record.excluded:
        return f"{waits}, not requested until crawl.toml allows it: {record.rejected_because}"
    until = host["not_before"] if host else None
    if host and until and until > now and (not due_at or until > due_at):
        waits = "waits in the frontier" if row["reason"] == "deferred" else waits
        return f"{waits}: its host is not asked before {_time(until)}: {why(host)}"
    if due_at and due_at > now:
        return f"{waits} until {_time(due_at)}"
    if record.limit and row["kind"] != EXTERNAL:
        return f"{waits}: the limit of {record.limit} pages is reached; to go on, raise limits.max_pages (--max-pages)"
    throttled = "; its template is throttled" if record.traps else ""
    return f"{waits}, due now: the next round may fetch it{throttled}"


def _as_lesser(record: UrlRecord) -> str:
    """Of what a URL is a requisite or an external target, to follow a verb; empty if it is neither."""
    names = {REQUISITE: "a requisite of", EXTERNAL: "an external target of"}
    if record.state is None or record.state["kind"] not in names:
        return ""
    return f" as {names[record.state['kind']]} {record.state['discovered_from']}"


def _fetched(record: UrlRecord) -> str:
    document = record.document or {}
    when = f"fetched in round {record.visits[-1]['round']}" if record.visits else "fetched"
    if as_what := _as_lesser(record):
        why = "for its status alone" if record.state and record.state["kind"] == EXTERNAL else "for archives"
        return f"{when}{as_what}, {why}; it is never a document"
    if record.unsearched and document:
        return f"{when}; not in the index: {record.unsearched}"
    if record.indexed:
        return f"{when}; in the index"
    for relation in ("duplicate_of", "near_duplicate_of"):
        if relation in record.copies:
            return f"{when}; not in the index: {_RELATIONS[relation]} {record.copies[relation]}"
    if document.get("noindex"):
        return f"{when}; not in the index: {FAILED[Outcome.DENIED_META.value]}"
    if document and record.index_scope_before:
        return f"{when}; not in the index yet: [index] was changed; beamtrawl crawl or compact takes it in"
    if not document:
        return f"{when}; not in the index: it is no document of a kind that is parsed"
    return f"{when}; not in the index yet: the update step of its round has not ended"


def evidence(record: UrlRecord, now: datetime) -> Iterator[str]:
    """One line per fact."""
    yield f"url: {record.url}"
    for step in record.steps:
        yield f"  {step['rule']}: {step['before']} -> {step['after']}"
    if record.dedup_form != record.url:
        yield f"known by: {record.dedup_form}"
    yield f"scope: {f'rejected by {record.rejected}: {record.rejected_because}' if record.rejected else 'not rejected'}"
    if record.rejected and record.state:
        yield f"  {_although_known(record)}"
    for alias in record.aliases:
        yield f"alias by {alias['rule']}: {alias['url']}"
        yield from _alias(alias)
    if record.seed:
        yield "seed"
    if len(record.path) > 1:
        yield "first path from a seed:"
        yield from (f"  {url}" for url in record.path)
    yield f"linked from: {counted(record.referrers, 'page')}"
    for link in record.links:
        rel = f" rel={link['rel']}" if link["rel"] else ""
        not_followed = f", not followed: {link['not_followed']}" if link.get("not_followed") else ""
        yield f"  round {link['round']}: {link['source_url']} ({link['kind']}{rel}) {link['anchor']!r}{not_followed}"
    if record.referrers > len(record.links) == MOST:
        yield "  …"
    yield from (f"redirected from: {url}" for url in record.redirected_from)
    yield from _robots(record.robots)
    for said in record.signals:
        yield f"  {said['signal']}={said['value']} by {said['place']}: {said['text']}"
    for visit in record.visits:
        yield f"visit in round {visit['round']}, {_time(visit['fetched_at'])}: {_visit(visit)}"
    if record.frontier and record.state and record.state["state"] == "due":
        frontier = record.frontier
        yield f"frontier: {frontier['reason']}, depth {frontier['depth']}, priority {frontier['priority'] or 0:.3g}"
    if record.hosts and record.hosts["not_before"] and record.hosts["not_before"] > now:
        yield f"host: not asked before {_time(record.hosts['not_before'])}: {why(record.hosts)}"
    for trap in record.traps:
        yield (
            f"template {trap['template']} ({trap['kind']}): {trap['state']} since round {trap['since']},"
            f" {results_of(trap)}"
        )
    yield from _document(record)
    if record.state and record.state["next_fetch_at"]:
        reason = _plan_reason(record.state, record.host_changes)
        yield f"next visit: {_time(record.state['next_fetch_at'])}{f', {reason}' if reason else ''}"


def _although_known(record: UrlRecord) -> str:
    """What it means that the scope rejects a URL that is in the crawl."""
    if record.seed:
        return "it is a seed, and is requested nevertheless"
    if record.excluded:
        return "it was in the crawl before crawl.toml was changed; it is not requested any more, and nothing is removed"
    return "links that are found from now on are rejected; this URL was in the crawl before"


def _plan_reason(state: Row, host: Row | None) -> str:
    """Why the next visit of a URL is when it is, from its rows of urls and host_changes; empty if it is not planned."""
    if state["fade_s"] is not None and state["state"] in FADING:
        return (
            f"{state['fade_s'] / DAY:.3g} days after the last: the page is gone, and each wait is twice the one before"
        )
    if state["changes_per_day"] is None or state["next_fetch_at"] is None:
        return ""
    days = (state["next_fetch_at"] - state["last_fetched_at"]).total_seconds() / DAY
    visits = (state["changed"] or 0) + (state["unchanged"] or 0)
    expected = host_rate((host or {}).get(name) for name in OBSERVED) * DAY
    return (
        f"every {days:.3g} days: about {state['changes_per_day']:.3g} changes per day"
        f" ({state['changed'] or 0} of {visits} revisits found one; its host: {expected:.3g}),"
        f" weight {state['revisit_weight']:.3g}"
    )


def _robots(row: Row | None) -> Iterator[str]:
    if row is None:
        yield "robots.txt: not fetched from its host"
        return
    rule = f" by line {row['line']}: {row['rule']}" if row["rule"] else f": {robots_verdict(row)}"
    yield f"robots.txt of {_time(row['fetched_at'])} {'allows' if row['allows'] else 'denies'} it{rule}"


def robots_verdict(row: Row, matches: str = "no line matches it") -> str:
    """What a robots.txt means for URLs that none of its lines matches; `matches` is said of one that was read."""
    if row["verdict"] == Verdict.RULES:
        return matches
    answer = f"its status was {row['status']}" if row["status"] else f"it could not be fetched ({row['error']})"
    return {
        Verdict.ALLOW_ALL: f"{answer}, so that everything is allowed",
        Verdict.DENY_ALL: f"{answer}, so that everything is denied",
        Verdict.UNREACHABLE: f"{answer}, so that nothing is requested for now",
    }[row["verdict"]]


def _visit(row: Row) -> str:
    parts = [row["outcome"], row["status"] and f"status {status_words(row['status'])}", row["media_type"]]
    parts.append(row["body_bytes"] and f"{row['body_bytes']} bytes")
    parts.append(row["body_removed"] and "body removed")
    parts.append(row["redirect_to"] and f"to {row['redirect_to']}")
    parts.append(row["robots_rule"])
    return ", ".join(str(part) for part in (*parts, row["error"]) if part)


def _document(record: UrlRecord) -> Iterator[str]:
    if record.document:
        facts = [record.document[name] for name in ("title", "language", "media_type")]
        yield f"document of round {record.document['round']}: {', '.join(filter(None, facts))}"
        if record.document["canonical_url"]:
            ignored = record.document["canonical_ignored"]
            yield f"  canonical link: {record.document['canonical_url']}{f' (ignored: {ignored})' if ignored else ''}"
        if licence := record.document["license"]:
            yield f"  licence: {licence} ({record.document['license_source']})"
        if preference := _usage(record.document, record.tdmrep, record.signals):
            yield f"  use: {preference}"
    yield from (f"  {_RELATIONS[relation]} {url}" for relation, url in record.copies.items())
    if record.indexed:
        yield f"index: in {record.indexed['segment']}"
    elif record.tombstone:
        yield f"index: removed in round {record.tombstone['round']} ({record.tombstone['reason']})"
    if record.rank:
        yield f"link rank: {record.rank['link_rank']:.2f} (1 is the mean), from {counted(record.rank['links'], 'page')}"


def _usage(row: Row, tdmrep: Row | None, signals: Sequence[Row]) -> str:
    """The preferences about the use of a document, and what follows for training."""
    stated = Usage.stored(row)
    said, training = stated.text(), row["ai_training"]
    if tdmrep and row["tdm_reservation"] is None:
        rule = f"tdm-reservation={int(tdmrep['reserved'])} by {tdmrep['file']}, location {tdmrep['location']}"
        said = "; ".join(filter(None, [said, " ".join(filter(None, [rule, tdmrep["policy"]]))]))
        training = concluded(training, tdmrep["reserved"])
    if any(signal["signal"] == AI_TRAIN and signal["value"] == NO for signal in signals):
        said, training = said or f"{AI_TRAIN}={NO}", False
    conclusion = {False: "reserved for training", True: "may train", None: "says nothing of training"}
    return f"{conclusion[training]} ({said})" if said else ""


def _alias(alias: Row) -> Iterator[str]:
    """The evidence for an alias rule, what it holds back, and how to release that."""
    pages = counted(alias["support"], "page")
    pair = f", such as {alias['evidence'][0]} and {alias['evidence'][1]}" if alias["evidence"] else ""
    yield f"  in {alias['template']}: {pages} with the same content under two such URLs{pair}"
    yield f"  {alias['held']} URLs are held back, and {alias['sampled']} others were fetched to verify the rule"
    yield f"  to release them: beamtrawl release DIR '{alias['pattern']}'"


def _last(aliases: list[Row]) -> str:
    return str(aliases[-1]["url"]) if aliases else "another URL"


def _time(moment: Any) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
