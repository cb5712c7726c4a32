"""Judges the templates of a host by the URLs that a round has requested."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Set
from typing import NamedTuple

from ..batches.batch_schemas import CandidateRow, YieldRow
from ..outcomes import Outcome
from ..tables.schemas import Row
from ..tables.sitemap_terms import PROBE
from ..urls.canonical import url_key
from ..urls.templates import family
from . import promise, soft_404
from .allow_list import AllowList
from .discovery import Known, UrlShape, from_elsewhere, shape_of, source_name
from .holds import TrappedHost
from .judge import ENOUGH, Counts, Queues, drained, end, judge
from .news import FAILED, Duplicates, HostNews
from .novelty import unpack
from .soft_404 import Answers, ErrorPages
from .template_rows import ANY, LIMITS, SOURCE, Kind, Name, State, template_part

_OF_SOURCE = 3  # useless results of the links of one page that count for their template in a round: less than `ENOUGH`
_OF_TEMPLATE = 8  # results of a new template that count for all new templates of its host in a round


class Watched(NamedTuple):
    """The result for a host in a round."""

    stale: list[bytes]  # keys of pages without news
    gone: list[bytes]  # keys of pages that their host answers to any address
    probes: list[CandidateRow]  # URLs that cannot exist, to be requested
    traps: list[Row]  # rows of table traps changed by the round
    trap_samples: list[Row]  # rows of table trap_samples
    trapped: TrappedHost | None  # None if no template is throttled or trapped
    reopened: int  # number of trapped templates that are open again


def watch_host(
    host: str, requests: Collection[YieldRow], duplicates: Duplicates, traps: Iterable[Row],
    trap_samples: Collection[Row], queues: Queues, is_allowed: AllowList, round_: int, key: bytes,
) -> Watched:  # fmt: skip
    """Judges the templates of a host by its URLs that were requested for the first time, in the order of their visits.

    `traps` and `trap_samples` are the host's rows before this round, and `queues` what waited then. `key` makes URLs
    that cannot exist.
    """
    known = Known(traps, (form for row in trap_samples for form in unpack(row["forms"])))
    before, forms = dict(known.rows), frozenset(known.forms)
    pages = sum(int(row["pages"]) for row in before.values() if row["template"] != ANY)
    asked = soft_404.answers_of(trap_samples)
    answers, again = _answers(requests, asked)
    news, tally = HostNews(trap_samples, pages, asked, answers), _Tally(known)
    stale, gone = list[bytes](), list[bytes]()
    for request in sorted(requests, key=lambda row: (from_elsewhere(row), row["depth"], -row["priority"], row["url"])):
        if request["kind"] is not None:
            continue
        shape = shape_of(request["url"], request["referrer"], request["foreign"], request["redirects"])
        kind = known.kind_of(shape, bool(request["links_without_news"]))
        if shape.form is not None and not shape.is_foreign:
            known.forms.add(shape.form)
        came = Counts(redirected=1) if request["outcome"] == Outcome.REDIRECTED else FAILED
        is_free = is_allowed(request["url"])
        if request["words"] is not None:
            came = news.take(request, shape, kind, duplicates)
            if not came.fresh and not is_free:
                (gone if came is FAILED else stale).append(request["url_key"])
        tally.add(request, shape, kind, came, is_counted=not is_free)
    suspected = news.suspected() | again
    for name, results in sorted(tally.counts().items(), key=lambda item: (SOURCE in item[0][0], item)):
        row = judge(known, name, results, tally.samples.get(name, ()), round_, queues, len(requests))
        if row["state"] == State.OPEN and family(template_part(name[0])) in suspected:
            row["budget"] = min(row["budget"], LIMITS[Kind(name[1])][0])  # until its host has answered
    reopened = sum(row["state"] != known.rows[name]["state"] == State.OPEN for name, row in before.items())
    closed = list(filter(known.is_closed, known.rows))
    tried = tally.tried_places() if tally.is_idle else frozenset[Name]()
    for name in closed if requests else ():
        is_idle = tally.is_idle and name not in tried and not (name in before and drained(before[name], queues))
        end(known, name, is_idle, round_)
    probes = [_probe(page, key) for page in suspected.values()]
    changed = [row | {"host": host} for name, row in known.rows.items() if row is not before.get(name)]
    trapped = TrappedHost(host, list(known.rows.values()), sorted(known.forms), gone) if closed or gone else None
    samples = news.rows(host, round_, suspected, known.forms - forms)
    return Watched(stale, gone, probes, changed, samples, trapped, reopened)


class _Tally:
    """The results of the requests of a round, by the names of their templates; `known` are the earlier rows."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._results = dict[Name, list[Counts]]()
        self._untried = dict[Name, list[Counts]]()  # of pages whose links were not tried before
        self._useless = Counter[Name]()  # of these
        self._reached = Counter[str]()  # by template of redirects
        self.samples = dict[Name, list[str]]()  # URLs that were not fresh
        self.is_idle = True  # whether all requests were of throttled or trapped templates, and useless

    def add(self, request: YieldRow, shape: UrlShape, kind: Kind, came: Counts, is_counted: bool) -> None:
        """Add the result of a request; one that is not counted changes only `is_idle` and the redirects."""
        if shape.referrer and request["redirects"]:
            self._reached[shape.referrer] += came.fresh or (came.redirected and shape.referrer != shape.template)
        names = self._known.names_of(shape, kind)
        self.is_idle = self.is_idle and not came.fresh and any(map(self._known.is_closed, names))
        if not is_counted:
            return
        own: Name = (shape.template, kind)
        for name in list(names):
            source = None if SOURCE in name[0] else source_name(name, shape)
            if source:
                self._untried.setdefault(source, []).append(came)
                self._useless[source] += not came.fresh
                if not came.fresh and self._useless[source] > _OF_SOURCE:
                    names.remove(name)
        if len(self._results.get(own, ())) >= _OF_TEMPLATE:
            names = [name for name in names if name[0] != ANY]
        for name in names:
            self._results.setdefault(name, []).append(came)
        if not came.fresh:
            for name in {*names, source_name(own, shape) or own}:
                self.samples.setdefault(name, []).append(request["url"])

    def tried_places(self) -> Set[Name]:
        """The templates of whose places new ones were tried, and fewer than `MEMORY` in all: others may be good."""
        known = (name for name in self._known.rows if SOURCE in name[0])
        places = Counter((template_part(name), kind) for name, kind in {*self._untried, *known})
        new = {(template_part(name), kind) for name, kind in self._untried}
        return {name for name in new if places[name] < promise.MEMORY}

    def counts(self) -> dict[Name, Counts]:
        """The results by name."""
        results = self._results | {
            (name, kind): some
            for (name, kind), some in self._untried.items()
            if self._useless[name, kind] >= ENOUGH or self._known.is_closed((template_part(name), kind))
        }
        counts = {name: Counts(*map(sum, zip(*some, strict=True))) for name, some in results.items()}
        for name in {*self._known.rows, *counts}:
            reached = self._reached[template_part(name[0])]
            if reached or (name in self._known.rows and self._known.rows[name]["unresolved"]):
                counts[name] = counts.get(name, Counts())._replace(reached=reached)
        return counts


def _answers(
    requests: Collection[YieldRow], asked: Mapping[str, Answers]
) -> tuple[dict[str, Answers], dict[str, YieldRow]]:
    """(what a round tells of families to be asked, the answer of each that is to be asked again).

    A family in which the host has answered a URL with 404 or 410 need not be asked.
    """
    answers, again = dict[str, Answers](), dict[str, YieldRow]()
    for request in requests:
        if request["kind"] == PROBE and request["referrer"]:
            group = family(shape_of(request["referrer"]).template)
            answers[group] = asked.get(group, Answers(ErrorPages.ASKED)).after(request)
            again |= {group: request} if answers[group].answer is ErrorPages.ONE else {}
    missing = (row for row in requests if row["outcome"] == Outcome.GONE and row["kind"] is None)
    refusing = {family(shape_of(row["url"]).template) for row in missing}.difference(asked, answers)
    return answers | dict.fromkeys(refusing, Answers(ErrorPages.NONE)), again


def _probe(sample: YieldRow, key: bytes) -> CandidateRow:
    """The candidate of a URL that cannot exist beside a page, or beside the one that was asked before."""
    url = soft_404.impossible_url(sample["url"], key)
    referrer = (sample["referrer"] if sample["kind"] == PROBE else None) or sample["url"]
    return CandidateRow(
        url_key=url_key(url), url=url, host=sample["host"], depth=sample["depth"], redirects=0,
        score=sample["priority"], referrer=referrer, kind=PROBE, foreign=sample["foreign"],
    )  # fmt: skip
