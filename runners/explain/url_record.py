"""What a crawl knows about a URL: pure functions of what its tables hold."""

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

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
from ...transforms.urls import canonical as urls
from ...transforms.urls.explain import explain
from ...transforms.urls.rejections import in_words
from ...transforms.urls.templates import template
from ..state.alias_rules import pattern_of
from .sources import Sources
from .url_tables import LONGEST_PATH, MOST, UrlTables, robots_of


class UrlRecord:
    """What a crawl knows about a URL, of those that `tables` is about; parts without rows are empty or None."""

    def __init__(self, tables: UrlTables, reference: str) -> None:
        self.url = url = _canonical(reference)
        self.dedup_form = urls.dedup_form(url)
        self.url_key = key = urls.url_key(url).hex()
        self.host = urls.host(url)
        self.steps: list[Row] = [step._asdict() for step in explain(reference)]  # rule, before, after: to this URL
        self.state: Row | None = tables.states.get(key)  # row of urls
        self.seed = key in tables.seeds
        # by which rule of the scope, as the settings are now, and the same in words; None: not rejected
        self.rejected = _rejected(tables, url, self.state)
        self.rejected_because = in_words(self.rejected, url, tables.filter.scope) if self.rejected else None
        # whether it is not requested any more, because settings that were changed reject it
        self.excluded = bool(self.rejected and self.state and tables.has_changed and not self.seed)
        inbound = tables.links.get(key, {"sources": 0, "links": []})
        # whether one of `links` is followed; true if there are none
        self.followed = not inbound["links"] or any(not link.get("not_followed") for link in inbound["links"])
        # rule, url, template, pages that agree, …: alias rules that change it, or make it an alias
        self.aliases = list(_aliases(tables.aliases, url, self.state))
        self.path = _path(tables, self.state)  # from a seed to it, by the links through which each URL was found first
        self.referrers: int = inbound["sources"]
        self.links: list[Row] = inbound["links"]  # the first of them
        self.redirected_from = list(tables.redirects.get(url, ())[:MOST])
        visits = tables.visits.get(key, ())
        self.visits: list[Row] = list(visits[-MOST:])
        # row of robots, with `rule` and `line` that decide on it, and whether it `allows`
        self.robots = _robots(tables, url, visits)
        # signal, value, line, place, text: what the newest robots.txt and licences say of its uses
        self.signals = list(_signals(tables, url, visits))
        document = tables.documents.get(key)
        # why searches do not find its document, by its author's word or [index]; None: for neither
        self.unsearched = _unsearched(tables, url, document, self.signals)
        self.index_scope_before = tables.index_scope_before  # whether the index was made by other patterns, too
        self.frontier: Row | None = tables.frontier.get(key)
        self.limit = tables.limit  # limits.max_pages if it is reached, else 0
        self.hosts: Row | None = tables.hosts.get(self.host)  # row of its host
        self.host_changes: Row | None = tables.host_changes.get(self.host)  # the same of table host_changes
        # throttled or trapped templates that it may belong to
        self.traps = list(_traps(tables.traps.get(self.host, ()), url))
        self.document: Row | None = document
        # file, fetched_at, location, reserved, policy: the rule of its host's TDMRep file about it
        self.tdmrep = _tdmrep(tables, url)
        # url by relation: duplicate_of, near_duplicate_of, same_content_as, joined_to
        self.copies = dict(_copies(tables, document or {}, self.state or {}))
        self.indexed: Row | None = tables.indexed.get(key)  # segment and round
        self.rank: Row | None = tables.ranks.get(key)
        self.tombstone: Row | None = tables.tombstones.get(key)
        block = tables.blocks.match(url)
        self.block = dataclasses.asdict(block) if block else None  # the block that matches it
        # the URL without the punctuation at its end, if the crawl knows that one instead
        self.meant = _meant(tables, reference, self.state)

    def to_dict(self) -> dict[str, Any]:
        """JSON values by name, but for times."""
        return dict(vars(self))


def _rejected(tables: UrlTables, url: str, state: Row | None) -> str | None:
    """The rule of the scope that rejects a URL, as it waits or would be found."""
    waiting = tables.frontier.get(urls.url_key(url).hex())
    if waiting is None:
        links = tables.links.get(urls.url_key(url).hex(), {"links": []})["links"]
        depth = state["depth"] if state else _depth(tables, links)
        waiting = {"depth": depth, "redirects": 0, "kind": state and state["kind"]}
    return tables.filter.reject_waiting(url, waiting["depth"], waiting["redirects"] or 0, waiting["kind"])


def read_records(sources: Sources, references: Sequence[str]) -> list[UrlRecord]:
    """The records of URLs that `urls.canonicalize` accepts, in their order; the tables are read once for all."""
    asked = (_canonical(form) for reference in references for form in (reference, _without_end(reference)))
    tables = UrlTables(sources, list(dict.fromkeys(asked)))
    return [UrlRecord(tables, reference) for reference in references]


def _canonical(reference: str) -> str:
    return urls.canonicalize(reference) or reference


def _without_end(reference: str) -> str:
    """A URL without punctuation at its end, which may be of the sentence that it was copied from."""
    return reference.rstrip(".,;:!?)]>'\"")


def _meant(tables: UrlTables, reference: str, state: Row | None) -> str | None:
    url = _canonical(_without_end(reference))
    return url if state is None and urls.url_key(url).hex() in tables.states else None


def _aliases(rules: KnownRules, url: str, state: Row | None) -> Iterator[Row]:
    """The alias rules that change a URL, and further ones by which it is an alias, each with its evidence."""
    form_by_rule = {(rule, scope_of(form)): form for rule, form in rules.used.steps(url)}
    if state and state["state"] == ALIAS:
        first = stands_for(state["reason"])
        form_by_rule = dict.fromkeys(sorted(rules.used.between(url, first)), first) | form_by_rule
    for (rule, scope), form in form_by_rule.items():
        row, count = rules.rows.get((rule, scope), {}), rules.counts.get((rule, scope), Count())
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


def _depth(tables: UrlTables, links: Iterable[Row]) -> int:
    """The depth of a URL that is not in table urls: one more than that of the pages that link to it."""
    sources = (tables.origins.get(link["source_url"]) for link in links)
    return min((row["depth"] + 1 for row in sources if row), default=0)


def _path(tables: UrlTables, state: Row | None) -> list[str]:
    """The URLs from a seed to a URL, each discovered from the one before."""
    path: list[str] = []
    while state and state["url"] not in path and len(path) < LONGEST_PATH:
        path.insert(0, state["url"])
        state = tables.origins.get(state["discovered_from"])
    return path


def _robots(tables: UrlTables, url: str, visits: Sequence[Row]) -> Row | None:
    """The robots.txt that decided on the last visit, or else the newest, and its rule for the URL."""
    origin, then = urls.origin(url), robots_of(visits)
    row = (tables.robots_then.get(then) if then else None) or tables.robots.get(origin)
    if row is None:
        return None
    body = row["body"] or b""
    verdict = robots_rules.Verdict(row["verdict"])
    rules = _parse(body, tables.robot, origin) if verdict is robots_rules.Verdict.RULES else None
    allows, rule = Robots(verdict, rules).allows(url)
    line = robots_rules.line_of(rule, body.decode("utf-8", "replace")) if rule else None
    stored = {name: value for name, value in row.items() if name != "body"}
    return stored | {"allows": allows, "rule": rule, "line": line}


def _signals(tables: UrlTables, url: str, visits: Sequence[Row]) -> Iterator[Row]:
    """What the newest robots.txt of its origin (the one before if it was away) and licences say about uses of a URL."""
    for name, said in tables.stated.about(url):
        if said.line.source:
            yield _said(name, said)
    row, then = tables.robots.get(urls.origin(url)), robots_of(visits)
    if row and row["verdict"] == robots_rules.Verdict.UNREACHABLE:
        row = tables.robots_then.get(then) if then else None
    if row is None or row["verdict"] != robots_rules.Verdict.RULES:
        return
    for name, said in _parse(row["body"] or b"", tables.robot, urls.origin(url)).signals(url).items():
        yield _said(name, said) | {"fetched_at": row["fetched_at"]}


def _said(name: str, said: Signal) -> Row:
    line = said.line
    return {"signal": name, "value": said.value, "line": line.number, "place": line.place, "text": str(line)}


def _unsearched(tables: UrlTables, url: str, document: Row | None, signals: Iterable[Row]) -> str | None:
    said = next((row for row in signals if row["signal"] == SEARCH and row["value"] == NO), None)
    if said:
        return f"its author reserves it from search, by {said['place']}: {said['text']}"
    if document and document["search"] is False:
        stated = ", ".join(filter(None, (document["content_signals"], document["content_usage"], document["rsl"])))
        return f"its author reserved it from search when it was fetched ({stated})"
    if reason := tables.index_scope.keeps_out(url):
        return reason + (" (from the next crawl or compact on)" if tables.indexed.get(urls.url_key(url).hex()) else "")
    return None


def _tdmrep(tables: UrlTables, url: str) -> Row | None:
    file_and_rule = effect(tables.tdm_rules, url)
    return (
        {"file": file_and_rule[0].url, "fetched_at": file_and_rule[0].fetched_at, **file_and_rule[1]._asdict()}
        if file_and_rule
        else None
    )


_parse = functools.lru_cache(64)(robots_rules.parse)


def _traps(rows: Iterable[Row], url: str) -> Iterator[Row]:
    form = template(url[len(urls.origin(url)) :])
    yield from sorted((row for row in rows if row["template"] == form), key=lambda row: row["kind"])


def _copies(tables: UrlTables, document: Row, state: Row) -> Iterator[tuple[str, str]]:
    """The URLs of the pages that a page is a copy of, by relation."""
    stated = {name: document.get(name) for name in ("duplicate_of", "near_duplicate_of", "same_content_as")}
    stated["joined_to"] = state.get("joined_to")
    for relation, key in stated.items():
        if key:
            yield relation, str(tables.originals.get(key, key))
