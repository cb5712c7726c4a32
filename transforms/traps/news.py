"""Which pages of a host are news: words and titles that its other pages have not shown."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from ..batches.batch_schemas import YieldRow
from ..tables.schemas import Row
from ..urls.canonical import url_key
from ..urls.templates import family
from . import soft_404
from .discovery import UrlShape
from .judge import Counts
from .novelty import Family, pack
from .soft_404 import Answers, ErrorPages, Evidence, folder_of
from .template_rows import Kind

_VARIED, _LARGE = 5, 1_000
"""Minimum pages of a host with many new words, or minimum pages, before pages count as without news: on a host where
all pages are similar or have few words, that is no evidence of a trap."""

FAILED = Counts(failed=1)
"""The result of a request that gave no page, or the page that its host answers to any address."""

FOREIGN = "foreign "
"""Precedes the families of URLs that only other sites link, in table trap_samples."""


class Duplicates(NamedTuple):
    """Keys of exact and near duplicates, each with that of the page that it duplicates."""

    copies: Mapping[bytes, bytes]
    near: Mapping[bytes, bytes]

    def has_copy(self, request: YieldRow) -> bool:
        """Whether a page is a copy; a near duplicate is one if its URL piles up parts of the other one's."""
        key = request["url_key"]
        return key in self.copies or (key in self.near and is_stacked(request["url"], self.near[key]))


def is_stacked(url: str, original: bytes) -> bool:
    """Whether a URL is that of another page, of some key, with more folders before or after its path.

    A server that ignores a part of a path answers endlessly many paths with one page.

    >>> is_stacked("http://a.test/de/news/x", url_key("http://a.test/news/x"))
    True
    >>> is_stacked("http://a.test/x.php/more/", url_key("http://a.test/x.php"))
    True
    >>> is_stacked("http://a.test/x?print=1", url_key("http://a.test/x"))
    False
    """
    scheme, _, host, target = url.split("/", 3)
    path, mark, query = target.partition("?")
    names = path.split("/")
    parts = [*("/".join(names[start:]) for start in range(1, len(names)))]
    parts += ["/".join(names[:end]) + "/" * is_folder for end in range(1, len(names)) for is_folder in (0, 1)]
    return any(url_key(f"{scheme}//{host}/{part}{mark}{query}") == original for part in parts if part != path)


class HostNews:
    """What the pages of a host have shown, in earlier rounds and in this one, by family of templates.

    `trap_samples` are the rows of earlier rounds, which had so many `pages`; `answers` is what the answers of this
    round to URLs that cannot exist say of their families. Pages that only other sites link come last: these know what
    the others have shown, but not the reverse.
    """

    def __init__(
        self, trap_samples: Collection[Row], pages: int, asked: Mapping[str, Answers], answers: Mapping[str, Answers]
    ) -> None:
        words = dict[str, list[bytes]]()
        for row in trap_samples:
            words.setdefault(row["template"], []).extend(row["words"])
        self._families = {group: Family(seen) for group, seen in words.items()}
        self._words = set[int]().union(*(one.seen for name, one in self._families.items() if name[:1] == "/"))
        self._telling = sum(row["telling"] or 0 for row in trap_samples if row["template"][:1] == "/")
        self._pages, self._answers = pages, dict(answers)
        self._asked = {**asked, **answers}
        self._refusing = {folder_of(name) for name, one in self._asked.items() if one.answer is ErrorPages.NONE}
        self._evidence, self._sizes, self._visited = list[Evidence](), Counter[str](), list[YieldRow]()

    def take(self, request: YieldRow, shape: UrlShape, kind: Kind, duplicates: Duplicates) -> Counts:
        """Add a page and return what it counts as: fresh, with news, different; `FAILED` if any address gives it."""
        group, is_series = family(shape.template), kind is not Kind.PLAIN
        answers = self._asked.get(group)
        is_answer = answers is not None and answers.has(request, is_series=is_series)
        if answers is not None and is_answer and answers.ends(request) and request["depth"]:
            return FAILED
        words = self._families.setdefault(FOREIGN * (kind is Kind.FOREIGN) + group, Family())
        telling = words.telling
        added = words.take(request, self._words if is_series else frozenset())
        self._telling += words.telling - telling
        self._words |= added.words
        self._pages += 1
        is_copy = is_answer or duplicates.has_copy(request)
        is_uniform = self._telling < _VARIED and self._pages < _LARGE
        is_told = added.has_new_title or (added.is_news and request["url_key"] not in duplicates.near)
        is_news = not is_copy and (is_told or is_uniform)
        is_fresh = is_news or (not is_series and not is_copy)
        is_named = added.is_named or not is_news
        self._visited.append(request)
        if is_fresh and not is_uniform and answers is None and folder_of(group) not in self._refusing:
            origin = folder_of(family(shape.referrer)) if shape.referrer else None
            if is_series or is_named or not added.has_new_title:
                self._evidence.append(Evidence(request, group, origin, is_named))
            self._sizes[group] += 1
        return Counts(pages=1, fresh=int(is_fresh), news=int(is_news), different=int(not is_copy))

    def suspected(self) -> dict[str, YieldRow]:
        """A page of each family that may answer any URL with a page."""
        return soft_404.suspected(self._evidence, self._visited, self._sizes)

    def asked(self, suspected: Collection[str]) -> list[str]:
        """Those of some families that are asked now: one until the host has answered one with pages."""
        answers = {one.answer for one in self._asked.values()}
        is_known = bool(answers & {ErrorPages.SAME, ErrorPages.RANDOM})
        return list(suspected)[: soft_404.ASKED_AT_ONCE if is_known else 1]

    def rows(self, host: str, round_: int, asked: Iterable[str], forms: Collection[int]) -> list[Row]:
        """The rows of trap_samples of the round, in which URLs that cannot exist are requested of some families."""
        answers = dict.fromkeys(asked, Answers(ErrorPages.ASKED)) | self._answers
        found = []
        groups = {*answers, *(group for group, words in self._families.items() if words.added)}
        for group in sorted(groups | ({""} if forms else set())):  # forms are of no family
            words = self._families.get(group, Family())
            row: Row = {"host": host, "template": group, "round": round_, "telling": words.telling}
            row["forms"] = b"" if group else pack(forms)
            found.append(row | {"words": [pack(words.added)]} | (answers[group].columns() if group in answers else {}))
        return found
