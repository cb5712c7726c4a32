"""Judges the templates of a host by the URLs that a round has requested."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from ..exchange.batch_schemas import CandidateRow, YieldRow
from ..outcomes import Outcome
from ..tables.schemas import Row
from ..tables.sitemap_terms import PROBE
from ..urls.canonical import url_key
from ..urls.templates import family
from . import judge, promise, soft_404
from .allow_list import AllowList
from .discovery import Known, UrlShape, from_elsewhere, kind_of, names_of, shape_of, source_name, type_name
from .draining import Queue
from .holds import TrappedHost
from .judge import Counts
from .news import NOTHING_SEEN, Duplicates, HostNews, Seen
from .novelty import pack
from .template_rows import (
    ENOUGH,
    FIRST,
    OF_SOURCE,
    SOURCE,
    Kind,
    Name,
    State,
    is_own,
    is_shared,
    new_row,
    template_part,
)

_CHAIN = 2  # redirects in a row within a template; a renamed page takes one, its old address without a slash another

WHOLE: Name = ("", "")
ALL_FOREIGN: Name = ("", Kind.FOREIGN.value)
"""The names of the queues of all URLs of a host: of those that its own site links, and of the others."""

_REDIRECTED, _FAILED = Counts(redirected=1), Counts(failed=1)  # the results of a request that gave no page

_FOREIGN = "foreign "  # precedes the families of URLs that only other sites link, in table trap_samples


class Watched(NamedTuple):
    """The result for a host in a round."""

    stale: list[bytes]  # keys of pages without news
    probes: list[CandidateRow]  # URLs that cannot exist, to be requested
    traps: list[Row]  # rows of table traps changed by the round
    trap_samples: list[Row]  # rows of table trap_samples
    trapped: TrappedHost | None  # None if no template is throttled or trapped
    reopened: int  # number of trapped templates that are open again
    seen: Seen


def watch_host(
    host: str, requests: Iterable[YieldRow], copies: Mapping[bytes, bytes], near: Mapping[bytes, bytes],
    traps: Iterable[Row], trap_samples: Iterable[Row], queues: Mapping[Name, Queue], is_allowed: AllowList,
    round_: int, key: bytes,
) -> Watched:  # fmt: skip
    """`watch` for the URLs that the host's own site links, and apart for those that only other sites link.

    The latter know what the former have shown, but not the reverse. `queues` has one for all URLs of each.
    """
    requests, traps, trap_samples = list(requests), list(traps), list(trap_samples)
    own = watch(
        host, [row for row in requests if not from_elsewhere(row)], copies, near, [row for row in traps if is_own(row)],
        [row for row in trap_samples if not row["template"].startswith(_FOREIGN)], queues, is_allowed, round_, key,
    )  # fmt: skip
    samples = [row for row in trap_samples if row["template"].startswith(_FOREIGN)]
    others = {WHOLE if name == ALL_FOREIGN else name: queue for name, queue in queues.items() if name != WHOLE}
    foreign = watch(
        host, [row for row in requests if from_elsewhere(row)], copies, near, [row for row in traps if not is_own(row)],
        [row | {"template": row["template"].removeprefix(_FOREIGN)} for row in samples], others, is_allowed, round_,
        key, own.seen,
    )  # fmt: skip
    apart = [row | {"template": _FOREIGN + row["template"], "forms": pack(())} for row in foreign.trap_samples]
    both = [one.trapped for one in (own, foreign) if one.trapped]
    rows = [row for one in both for row in one.rows]
    return Watched(
        own.stale + foreign.stale,
        own.probes + foreign.probes,
        own.traps + foreign.traps,
        own.trap_samples + [row for row in apart if row["words"] or row.get("answer")],
        TrappedHost(host, rows, own.trapped.forms if own.trapped else []) if both else None,
        own.reopened + foreign.reopened,
        own.seen,
    )


def watch(
    host: str, requests: Collection[YieldRow], copies: Mapping[bytes, bytes], near: Mapping[bytes, bytes],
    traps: Iterable[Row], trap_samples: Collection[Row], queues: Mapping[Name, Queue], is_allowed: AllowList,
    round_: int, key: bytes, site: Seen = NOTHING_SEEN,
) -> Watched:  # fmt: skip
    """Judges the templates of a host by its URLs that were requested for the first time, in the order of their visits.

    `copies` and `near` map keys of exact and near duplicates to those of the pages that they duplicate; `traps` and
    `trap_samples` are the host's rows before this round, and `queues` the known queues of its throttled templates at
    that time, `WHOLE` of the host. `key` makes URLs that cannot exist. What the `site` has shown besides is no news.
    """
    earlier, duplicates = Known(traps), Duplicates(copies, near)
    pages = sum(int(row["pages"]) for row in earlier.rows.values() if not is_shared(row["template"]))
    answers = _answers(requests)
    answers |= _with_errors(requests, {*answers, *(row["template"] for row in trap_samples if row.get("answer"))})
    news, tally, stale = HostNews(trap_samples, pages, answers, site), _Tally(earlier.rows), list[bytes]()
    for request in sorted(requests, key=_order):
        if request["kind"] is not None:
            continue
        shape = shape_of(request["url"], request["referrer"], request["foreign"], request["redirects"])
        kind = kind_of(shape, bool(request["links_without_news"]), news.forms, earlier)
        group = family(shape.template)
        news.add_form(shape.form, group)
        came = _REDIRECTED if request["outcome"] == Outcome.REDIRECTED else _FAILED
        if request["words"] is not None:
            came = news.take(request, group, kind, duplicates)
            if not came.fresh and not is_allowed(request["url"]):
                stale.append(request["url_key"])
        tally.add(request, shape, kind, came, is_counted=not is_allowed(request["url"]))
    counts = tally.counts()
    changed = _judged(host, earlier.rows, counts, tally.samples, queues, round_, len(requests))
    for name, row in changed.items():
        if SOURCE in name[0]:
            changed[name] = judge.of_source(row, earlier.rows.get((template_part(name[0]), name[1])))
    suspected = news.suspected()
    for name, row in changed.items():  # until its host has answered, a family that is asked grows no more
        if row["state"] == State.OPEN and family(template_part(name[0])) in suspected:
            changed[name] = row | {"budget": min(row["budget"], FIRST[Kind(name[1])])}
    reopened = _count_reopened(earlier.rows, changed)
    is_idle = tally.is_idle and bool(counts) and not any(came.fresh for came in counts.values())
    changed |= _ended(earlier.rows | changed, is_idle, bool(counts), round_)
    known = earlier.rows | changed
    probes = [row for page in suspected.values() for row in _probes(page, key)]
    has_traps = any(row["state"] != State.OPEN for row in known.values())
    trapped = TrappedHost(host, list(known.values()), sorted(news.forms)) if has_traps else None
    rows = news.rows(host, round_, suspected)
    return Watched(stale, probes, list(changed.values()), rows, trapped, reopened, news.seen)


class _Tally:
    """The results of the requests of a round, by the names of their templates; `known` are the earlier rows."""

    def __init__(self, known: Mapping[Name, Row]) -> None:
        self._known = known
        self._results = Counter[tuple[tuple[Name, ...], Counts]]()  # of equal requests, by their names and results
        self._by_source = dict[Name, list[Counts]]()  # of pages whose links were not tried before
        self._useless = Counter[Name]()
        self._redirects = dict[str, Counter[str]]()  # by template
        self.samples = dict[Name, list[str]]()  # URLs that were not fresh
        self.is_idle = True  # whether all requests were of throttled or trapped templates

    def add(self, request: YieldRow, shape: UrlShape, kind: Kind, came: Counts, is_counted: bool) -> None:
        """Add the result of a request; one that is not counted changes only `is_idle` and the redirects."""
        is_redirect, is_inside = request["outcome"] == Outcome.REDIRECTED, shape.referrer == shape.template
        if shape.referrer and request["redirects"]:
            is_reached = came.fresh or (is_redirect and not is_inside)
            redirects = self._redirects.setdefault(shape.referrer, Counter())
            redirects.update(reached=bool(is_reached))
        names = names_of(shape, kind, self._known)
        if request["outcome"] == Outcome.UNWANTED_TYPE and shape.extension:
            names = list(dict.fromkeys([*names, type_name(shape)]))
        held = (name in self._known and self._known[name]["state"] != State.OPEN for name in names)
        self.is_idle = self.is_idle and any(held)
        if not is_counted:
            return
        source = source_name(shape, kind)
        own = (shape.template, kind)
        if source and names[0] == own:
            self._by_source.setdefault(source, []).append(came)
            self._useless[source] += not came.fresh and not came.redirected  # the next round shows where it led
            if not came.fresh and not came.redirected and self._useless[source] > OF_SOURCE:
                names = [name for name in names if name[1] == Kind.TYPE]
        self._results[tuple(names), came] += 1
        if not came.fresh:
            for name in {*names, source or own}:
                self.samples.setdefault(name, []).append(request["url"])

    def counts(self) -> dict[Name, Counts]:
        """The results by name."""
        counts = _totals(self._results)
        for name, results in self._by_source.items():
            template = self._known.get((template_part(name[0]), name[1]))
            total = Counts(*map(sum, zip(*results, strict=True)))
            is_closed = template is not None and template["state"] != State.OPEN
            if is_closed or max(self._useless[name], total.redirected) >= ENOUGH:
                counts[name] = total
        for name in {*self._known, *counts}:
            if name in self._known and self._known[name]["chained"]:
                counts.setdefault(name, Counts())
            if found := self._redirects.get(template_part(name[0])):
                counts[name] = counts.get(name, Counts())._replace(**found)
        return counts


def _judged(
    host: str, known: Mapping[Name, Row], counts: Mapping[Name, Counts], samples: Mapping[Name, list[str]],
    queues: Mapping[Name, Queue], round_: int, requested: int,
) -> dict[Name, Row]:  # fmt: skip
    """The rows of the templates that have results."""
    return {
        name: judge.judge(
            known.get(name) or new_row(host, name),
            came,
            queues.get(WHOLE),
            samples.get(name, ()),
            round_,
            queues.get(name),
            requested,
            prior_of(name, known),
        )
        for name, came in sorted(counts.items())
    }


def prior_of(name: Name, known: Mapping[Name, Row]) -> float:
    """What the new templates of the host promise."""
    row = known.get(("*", name[1]))
    if row is None or name[0] == "*":
        return 0.5
    return min(0.5, promise.promise(row["recent_fresh"], row["recent_pages"] - row["recent_fresh"]))


def _ended(known: Mapping[Name, Row], is_idle: bool, has_counts: bool, round_: int) -> dict[Name, Row]:
    """The rows of throttled and trapped templates that change at the end of a round."""
    held = ((name, row) for name, row in known.items() if row["state"] != State.OPEN)
    ends = is_idle or not has_counts
    rows = ((name, row, judge.end(row, is_idle, round_, prior_of(name, known)) if ends else judge.wake(row, round_)) for name, row in held)
    return {name: after for name, row, after in rows if after != row}


def _count_reopened(earlier: Mapping[Name, Row], changed: Mapping[Name, Row]) -> int:
    """The number of trapped templates that are open again."""
    return sum(
        row["state"] == State.OPEN and name in earlier and earlier[name]["state"] == State.TRAPPED
        for name, row in changed.items()
    )


def _totals(tallies: Mapping[tuple[tuple[Name, ...], Counts], int]) -> dict[Name, Counts]:
    """The results of all requests by name."""
    totals: dict[Name, Counts] = {}
    for (names, came), number in tallies.items():
        for name in names:
            before = totals.get(name, Counts())
            totals[name] = Counts(*(total + number * one for total, one in zip(before, came, strict=True)))
    return totals


def _answers(requests: Iterable[YieldRow]) -> dict[str, soft_404.Known]:
    """What the answers of a round to URLs that cannot exist tell, by the family that they were asked for."""
    found: dict[str, list[YieldRow]] = {}
    for request in requests:
        if request["kind"] == PROBE and request["referrer"]:
            found.setdefault(family(shape_of(request["referrer"]).template), []).append(request)
    return {group: soft_404.learn(answers) for group, answers in found.items()}


def _with_errors(requests: Iterable[YieldRow], answered: Iterable[str]) -> dict[str, soft_404.Known]:
    """The families of a round in which the host has answered a URL with 404 or 410: these need not be asked."""
    gone = (request for request in requests if request["outcome"] == Outcome.GONE and request["kind"] is None)
    found = {family(shape_of(request["url"]).template) for request in gone}
    return dict.fromkeys(found.difference(answered), soft_404.Known(soft_404.ErrorPages.NONE))


def _probes(sample: YieldRow, key: bytes) -> Iterator[CandidateRow]:
    """The candidates of the URLs that cannot exist beside a page."""
    for url in soft_404.impossible_urls(sample["url"], key):
        yield CandidateRow(
            url_key=url_key(url), url=url, host=sample["host"], depth=sample["depth"], redirects=0,
            score=sample["priority"], referrer=sample["url"], kind=PROBE,
            foreign=sample["foreign"],
        )  # fmt: skip


def queues_of(rows: Iterable[Row], round_: int) -> dict[Name, Queue]:
    """The queues of a host after a round, of its rows of table trap_queues: by template and kind, and `WHOLE`."""
    found: dict[Name, Queue] = {}
    for row in rows:
        if row["round"] == round_:
            known = found.get(name := (row["template"], row["kind"]), Queue(0, 0))
            found[name] = Queue(known.waiting + row["waiting"], known.held + row["held"])
    return found


def _order(request: YieldRow) -> tuple[int, float, str]:
    """Sort key in the order of visits, as `frontier.order`."""
    return (request["depth"], -request["priority"], request["url"])
