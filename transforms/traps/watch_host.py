"""Judges the templates of a host by the URLs that a round has requested."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from ..batches.batch_schemas import CandidateRow, YieldRow
from ..outcomes import Outcome
from ..tables.schemas import Row
from ..tables.sitemap_terms import PROBE
from ..urls.canonical import url_key
from ..urls.templates import family
from . import promise, soft_404
from .allow_list import AllowList
from .discovery import Known, UrlShape, from_elsewhere, shape_of, side_of, sources_of
from .holds import TrappedHost
from .judge import Counts, Queues, judge, settle, settle_host
from .news import FAILED, Duplicates, HostNews
from .novelty import unpack
from .soft_404 import Answers, ErrorPages
from .template_rows import CLOSED, HOST, SIDES, SOURCE, SOURCES, Kind, Name, State, template_part


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
    pages = sum(int(before[HOST, kind]["pages"]) for kind in SIDES if (HOST, kind) in before)
    answered = soft_404.answers_of(trap_samples)
    answers = _answers(requests, answered)
    news, tally = HostNews(trap_samples, pages, answered, answers), _Tally(known)
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
    suspected = news.suspected()
    for name, results in sorted(tally.counts().items()):
        judge(known, name, results, tally.samples.get(name, ()), round_)
    if requests:
        is_ended = settle_host(known, queues, len(requests), round_, is_idle=tally.is_idle)
        settle(known, round_, is_ended=is_ended, suspected=suspected)
    reopened = sum(row["state"] == State.TRAPPED != known.rows[name]["state"] for name, row in before.items())
    closed = list(filter(known.is_closed, known.rows))
    asked = news.asked(suspected)
    probes = [probe for group in asked for probe in _probes(suspected[group], key)]
    changed = [row | {"host": host} for name, row in known.rows.items() if row is not before.get(name)]
    trapped = TrappedHost(host, list(known.rows.values()), sorted(known.forms), gone) if closed or gone else None
    samples = news.rows(host, round_, asked, known.forms - forms)
    return Watched(stale, gone, probes, changed, samples, trapped, reopened)


class _Tally:
    """The results of the requests of a round, by the names of their rows; `known` are the earlier ones."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._results = dict[Name, list[Counts]]()
        self._useless = Counter[Name]()  # of these
        self._reached = Counter[str]()  # by template of redirects
        self.samples = dict[Name, list[str]]()  # URLs that were not fresh
        self.is_idle = True  # whether all requests were of what promises little, and useless

    def add(self, request: YieldRow, shape: UrlShape, kind: Kind, came: Counts, is_counted: bool) -> None:
        """Add the result of a request; one that is not counted changes only `is_idle` and the redirects."""
        if shape.referrer and request["redirects"]:
            reached = came.fresh or (came.redirected and shape.referrer != shape.template)
            self._reached.update({shape.referrer: reached, HOST: reached})
        above, own = self._known.names_of(shape, kind), (shape.template, kind)
        is_closed = self._known.promised(above) <= promise.CLOSED
        self.is_idle = self.is_idle and not came.fresh and is_closed
        if not is_counted:
            return
        bases = [own] if came.redirected else list(dict.fromkeys((above[0], own)))  # no result of new templates yet
        places = [name for base in bases for name in sources_of(base, shape.referrer, shape.source)]
        names = [*places, *bases, (HOST, side_of(kind)), *([(CLOSED, side_of(kind))] if is_closed else [])]
        for name in names:
            self._results.setdefault(name, []).append(came)
            self._useless[name] += not (came.fresh or came.redirected)
        if not came.fresh:
            for name in {*names, own}:
                self.samples.setdefault(name, []).append(request["url"])

    def counts(self) -> dict[Name, Counts]:
        """The results by name, of the rows that are needed."""
        counts = {
            name: Counts(*map(sum, zip(*results, strict=True)))
            for name, results in self._results.items()
            if SOURCE not in name[0] or name in self._known.rows or self._tells(name)
        }
        for name in {*self._known.rows, *counts}:
            reached = self._reached[template_part(name[0])]
            unresolved = self._known.rows[name]["unresolved"] if name in self._known.rows else 0
            if reached or unresolved:
                reached = min(reached, unresolved) if SOURCE in name[0] else reached
                counts[name] = counts.get(name, Counts())._replace(reached=reached)
        return counts

    def _tells(self, name: Name) -> bool:
        """Whether links of a place may promise else than others: some were useless or, for a row of one page, many."""
        base = (template_part(name[0]), name[1])
        results = len(self._results.get(base, ())) + sum(self._known.results(base))
        useless = self._useless[base] + self._known.results(base)[1]
        return useless > (0 if SOURCES in name[0] else results / 4)


def _answers(requests: Collection[YieldRow], asked: Mapping[str, Answers]) -> dict[str, Answers]:
    """What a round tells of families to be asked.

    A family in which the host has answered a URL with 404 or 410 need not be asked.
    """
    probes = dict[str, list[YieldRow]]()
    for request in requests:
        if request["kind"] == PROBE and request["referrer"]:
            probes.setdefault(family(shape_of(request["referrer"]).template), []).append(request)
    missing = (row for row in requests if row["outcome"] == Outcome.GONE and row["kind"] is None)
    refusing = {family(shape_of(row["url"]).template) for row in missing}.difference(asked, probes)
    none = dict.fromkeys(refusing, Answers(ErrorPages.NONE))
    return {group: Answers.of(rows) for group, rows in probes.items()} | none


def _probes(sample: YieldRow, key: bytes) -> list[CandidateRow]:
    """The candidates of URLs that cannot exist beside a page."""
    return [
        CandidateRow(
            url_key=url_key(url), url=url, host=sample["host"], depth=sample["depth"], redirects=0,
            score=sample["priority"], referrer=sample["url"], kind=PROBE, foreign=sample["foreign"],
        )
        for url in soft_404.impossible_urls(sample["url"], key)
    ]  # fmt: skip
