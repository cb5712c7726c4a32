"""What a crawl knows about a URL: pure functions of what its tables hold."""

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...transforms import urls
from ...transforms.aliases.apply import ALIAS, stands_for
from ...transforms.aliases.learned_rules import KnownRules
from ...transforms.aliases.sample import Count
from ...transforms.aliases.scopes import scope_of
from ...transforms.rights.signals import NO, SEARCH
from ...transforms.rights.tdm_rules import effect
from ...transforms.robots import rules as robots_rules
from ...transforms.robots.lookup import Robots
from ...transforms.robots.signal_lines import Signal
from ...transforms.tables.schemas import Row
from ...transforms.urls.explain import explain
from ...transforms.urls.rejections import in_words
from ...transforms.urls.templates import query_template, template
from ..state.alias_rules import pattern_of
from .known import LONGEST_PATH, MOST, Known, robots_of
from .sources import Sources


@dataclasses.dataclass(frozen=True)
class UrlRecord:
    """What a crawl knows about a URL; parts without rows are empty or None."""

    url: str
    dedup_form: str
    url_key: str
    host: str
    steps: list[Row]  # rule, before, after: how the reference became the URL
    state: Row | None  # row of urls
    seed: bool
    rejected: str | None  # by which rule of the scope, as the settings are now; None: not rejected
    rejected_because: str | None  # the same in words
    excluded: bool  # whether it is not requested any more, because settings that were changed reject it
    followed: bool  # whether one of `links` is followed; true if there are none
    aliases: list[Row]  # rule, url, template, pages that agree, …: alias rules that change it, or make it an alias
    path: list[str]  # from a seed to it, by the links through which each URL was found first
    referrers: int
    links: list[Row]  # the first of them
    redirected_from: list[str]
    visits: list[Row]
    robots: Row | None  # row of robots, with `rule` and `line` that decide on it, and whether it `allows`
    signals: list[Row]  # signal, value, line, place, text: what the newest robots.txt and licences say of its uses
    unsearched: str | None  # why searches do not find its document, by its author's word or [index]; None: for neither
    index_scope_before: bool  # whether the index was made by other patterns of [index], too
    frontier: Row | None
    limit: int  # limits.max_pages if it is reached, else 0
    hosts: Row | None  # row of its host
    host_changes: Row | None  # the same of table host_changes
    traps: list[Row]  # throttled or trapped templates that it may belong to
    document: Row | None
    tdmrep: Row | None  # file, fetched_at, location, reserved, policy: the rule of its host's TDMRep file about it
    copies: Row  # url by relation: duplicate_of, near_duplicate_of, same_content_as, joined_to
    indexed: Row | None  # segment and round
    rank: Row | None
    tombstone: Row | None
    block: Row | None  # the block that matches it
    meant: str | None  # the URL without the punctuation at its end, if the crawl knows that one instead

    def to_dict(self) -> dict[str, Any]:
        """JSON values by name, but for times."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


def read_records(sources: Sources, references: Sequence[str]) -> list[UrlRecord]:
    """The records of URLs that `urls.canonicalize` accepts, in their order; the tables are read once for all."""
    asked = (_canonical(form) for reference in references for form in (reference, _without_end(reference)))
    known = Known(sources, list(dict.fromkeys(asked)))
    return [url_record(known, reference) for reference in references]


def _canonical(reference: str) -> str:
    return urls.canonicalize(reference) or reference


def _without_end(reference: str) -> str:
    """A URL without punctuation at its end, which may be of the sentence that it was copied from."""
    return reference.rstrip(".,;:!?)]>'\"")


def _meant(known: Known, reference: str, state: Row | None) -> str | None:
    url = _canonical(_without_end(reference))
    return url if state is None and urls.url_key(url).hex() in known.states else None


def url_record(known: Known, reference: str) -> UrlRecord:
    """The record of a URL that `known` is about."""
    url = _canonical(reference)
    key, host = urls.url_key(url).hex(), urls.host(url)
    state, visits, document = known.states.get(key), known.visits.get(key, ()), known.documents.get(key)
    found = known.links.get(key, {"sources": 0, "links": []})
    links: list[Row] = found["links"]
    depth = state["depth"] if state else _depth(known, links)
    waiting = known.frontier.get(key) or {"depth": depth, "redirects": 0, "kind": state and state["kind"]}
    rejected = known.filter.reject_waiting(url, waiting["depth"], waiting["redirects"] or 0, waiting["kind"])
    block = known.blocks.match(url)
    return UrlRecord(
        url=url,
        dedup_form=urls.dedup_form(url),
        url_key=key,
        host=host,
        steps=[step._asdict() for step in explain(reference)],
        state=state,
        seed=key in known.seeds,
        rejected=rejected,
        rejected_because=in_words(rejected, url, known.filter.scope) if rejected else None,
        excluded=bool(rejected and state and known.has_changed and key not in known.seeds),
        followed=not links or any(not link.get("not_followed") for link in links),
        aliases=list(_aliases(known.aliases, url, state)),
        path=_path(known, state),
        referrers=found["sources"],
        links=links,
        redirected_from=list(known.redirects.get(url, ())[:MOST]),
        visits=list(visits[-MOST:]),
        robots=_robots(known, url, visits),
        signals=(signals := list(_signals(known, url, visits))),
        unsearched=_unsearched(known, url, document, signals),
        index_scope_before=known.index_scope_before,
        frontier=known.frontier.get(key),
        limit=known.limit,
        hosts=known.hosts.get(host),
        host_changes=known.host_changes.get(host),
        traps=list(_traps(known.traps.get(host, ()), url)),
        document=document,
        tdmrep=_tdmrep(known, url),
        copies=dict(_copies(known, document or {}, state or {})),
        indexed=known.indexed.get(key),
        rank=known.ranks.get(key),
        tombstone=known.tombstones.get(key),
        block=dataclasses.asdict(block) if block else None,
        meant=_meant(known, reference, state),
    )


def _aliases(known: KnownRules, url: str, state: Row | None) -> Iterator[Row]:
    """The alias rules that change a URL, and further ones by which it is an alias, each with its evidence."""
    found = {(rule, scope_of(form)): form for rule, form in known.used.steps(url)}
    if state and state["state"] == ALIAS:
        first = stands_for(state["reason"])
        found = dict.fromkeys(sorted(known.used.between(url, first)), first) | found
    for (rule, scope), form in found.items():
        row, count = known.rows.get((rule, scope), {}), known.counts.get((rule, scope), Count())
        pairs = [[pair["url"], pair["other_url"]] for pair in row.get("evidence") or ()]
        yield {
            "rule": rule.name,
            "url": form,
            "template": scope,
            "support": row.get("support", 0),
            "evidence": pairs[0] if pairs else None,
            "held": count.held,
            "sampled": count.sampled,
            "pattern": pattern_of(rule.origin, [scope]),
        }


def _depth(known: Known, links: Iterable[Row]) -> int:
    """The depth of a URL that is not in table urls: one more than that of the pages that link to it."""
    sources = (known.origins.get(link["source_url"]) for link in links)
    return min((row["depth"] + 1 for row in sources if row), default=0)


def _path(known: Known, state: Row | None) -> list[str]:
    """The URLs from a seed to a URL, each discovered from the one before."""
    found: list[str] = []
    while state and state["url"] not in found and len(found) < LONGEST_PATH:
        found.insert(0, state["url"])
        state = known.origins.get(state["discovered_from"])
    return found


def _robots(known: Known, url: str, visits: Sequence[Row]) -> Row | None:
    """The robots.txt that decided on the last visit, or else the newest, and its rule for the URL."""
    origin, then = urls.origin(url), robots_of(visits)
    row = (known.robots_then.get(then) if then else None) or known.robots.get(origin)
    if row is None:
        return None
    body = row["body"] or b""
    verdict = robots_rules.Verdict(row["verdict"])
    rules = _parse(body, known.robot, origin) if verdict is robots_rules.Verdict.RULES else None
    allows, rule = Robots(verdict, rules).allows(url)
    line = robots_rules.line_of(rule, body.decode("utf-8", "replace")) if rule else None
    stored = {name: value for name, value in row.items() if name != "body"}
    return stored | {"allows": allows, "rule": rule, "line": line}


def _signals(known: Known, url: str, visits: Sequence[Row]) -> Iterator[Row]:
    """What the newest robots.txt of its origin (the one before if it was away) and licences say about uses of a URL."""
    for name, said in known.stated.about(url):
        if said.line.source:
            yield _said(name, said)
    row, then = known.robots.get(urls.origin(url)), robots_of(visits)
    if row and row["verdict"] == robots_rules.Verdict.UNREACHABLE:
        row = known.robots_then.get(then) if then else None
    if row is None or row["verdict"] != robots_rules.Verdict.RULES:
        return
    for name, said in _parse(row["body"] or b"", known.robot, urls.origin(url)).signals(url).items():
        yield _said(name, said) | {"fetched_at": row["fetched_at"]}


def _said(name: str, said: Signal) -> Row:
    line = said.line
    return {"signal": name, "value": said.value, "line": line.number, "place": line.place, "text": str(line)}


def _unsearched(known: Known, url: str, document: Row | None, signals: Iterable[Row]) -> str | None:
    said = next((row for row in signals if row["signal"] == SEARCH and row["value"] == NO), None)
    if said:
        return f"its author reserves it from search, by {said['place']}: {said['text']}"
    if document and document["search"] is False:
        stated = ", ".join(filter(None, (document["content_signals"], document["content_usage"], document["rsl"])))
        return f"its author reserved it from search when it was fetched ({stated})"
    if reason := known.index_scope.keeps_out(url):
        return reason + (" (from the next crawl or compact on)" if known.indexed.get(urls.url_key(url).hex()) else "")
    return None


def _tdmrep(known: Known, url: str) -> Row | None:
    found = effect(known.tdm_rules, url)
    return {"file": found[0].url, "fetched_at": found[0].fetched_at, **found[1]._asdict()} if found else None


_parse = functools.lru_cache(64)(robots_rules.parse)


def _traps(rows: Iterable[Row], url: str) -> Iterator[Row]:
    own = template(url[len(urls.origin(url)) :])
    names = {own, query_template(own) or own}
    yield from sorted((row for row in rows if row["template"] in names), key=lambda row: (row["template"], row["kind"]))


def _copies(known: Known, document: Row, state: Row) -> Iterator[tuple[str, str]]:
    """The URLs of the pages that a page is a copy of, by relation."""
    stated = {name: document.get(name) for name in ("duplicate_of", "near_duplicate_of", "same_content_as")}
    stated["joined_to"] = state.get("joined_to")
    for relation, key in stated.items():
        if key:
            yield relation, str(known.originals.get(key, key))
