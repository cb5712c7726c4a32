"""Removes boilerplate by evidence: blocks of text that repeat on the pages of a host, whatever their markup.

The evidence for a page is the batch of pages that it is parsed with, so the judgement is a pure function of that batch:
it keeps no state, and a step that runs again writes the same texts. A page with too few pages of its host in the batch
keeps its text. docs/decisions/boilerplate.md has the alternatives and the measurements.

The unit is a window of consecutive lines. A single line that most pages have, such as "Parameters", is kept: it is
removed only if the lines around it repeat with it, or at the beginning or the end of a page.
"""

import dataclasses
import itertools
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..duplicates.digest import ENOUGH
from ..sections.section import Section
from ..urls.canonical import host, owner
from .main_text import SENTENCE_ENDS
from .source import Page

FEWEST_PAGES = 6
"""Minimum number of distinct pages of a host that are evidence."""

MOST = 0.5
"""A window on more than this share of the distinct pages of a host is boilerplate."""

SOME = 0.05
"""A window on at least this share, and on FEWEST_PAGES, is boilerplate if it is part of a long list."""

LONG_LIST = 10
"""Minimum number of lines of a long list: a branch of a table of contents that is open on some pages only."""

_WINDOW = 3  # lines
_LIST_LINE = 80  # characters; longer lines, and sentences, are no part of a list
_MAX_LINES = 20_000  # compared per page
# Odd multipliers (xxHash's primes), so that the order of the lines matters.
_FACTORS = np.array([0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)

Windows = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def without_boilerplate(pages: Sequence[tuple[str, Page]]) -> list[Page]:
    """The pages, given with their canonical URLs, without the blocks that other pages of their owners have as well.

    An owner is a site, or a user with a folder in it (`canonical.owner`).

    Pages with equal digests count as one. If less than `digest.ENOUGH` characters of a page would remain, it is
    returned unchanged: its content is what the other pages have as boilerplate, such as the table of contents. The
    digest stays that of the whole text.
    """
    by_owner = defaultdict[str, list[int]](list)
    for number, (url, _) in enumerate(pages):
        by_owner[owner(host(url), url)].append(number)
    found = [page for _, page in pages]
    for numbers in by_owner.values():
        distinct = set({found[number].digest: number for number in numbers}.values())
        if len(distinct) < FEWEST_PAGES:
            continue
        lines = [found[number].text.split("\n") for number in numbers]
        windows, counts = _counted(lines, np.array([number in distinct for number in numbers]))
        is_some, is_most = counts >= max(FEWEST_PAGES, SOME * len(distinct)), counts > MOST * len(distinct)
        for number, own, kinds in zip(numbers, lines, windows, strict=True):
            if (some := is_some[kinds]).any():
                found[number] = _without(found[number], own, _removed(own, _lines(some), _lines(is_most[kinds])))
    return found


def _counted(pages: Sequence[Sequence[str]], is_counted: Flags) -> tuple[list[Numbers], Numbers]:
    """The windows of the lines of each page, as numbers, and for each number how many counted pages have the window."""
    numbered = defaultdict[str, int](itertools.count(1).__next__)
    hashes = [_windows(list(map(numbered.__getitem__, lines[:_MAX_LINES]))) for lines in pages]
    encoded = pa.array(np.concatenate(hashes)).dictionary_encode()
    kinds, sizes = encoded.indices.to_numpy().astype(np.int64), list(map(len, hashes))
    page_of = np.repeat(np.arange(len(pages)), sizes)
    once = pc.unique(pa.array((kinds << 32 | page_of)[is_counted[page_of]])).to_numpy()
    counts = np.bincount(once >> 32, minlength=len(encoded.dictionary))
    return np.split(kinds, np.cumsum(sizes[:-1])), counts


def _windows(lines: Sequence[int]) -> Windows:
    """The hashes of all windows of lines, given as numbers, including those that extend beyond the page."""
    margin = _WINDOW - 1
    padded = np.zeros(len(lines) + 2 * margin, np.uint64)
    padded[margin:-margin] = lines
    count = len(padded) - margin
    mixed = np.zeros(count, np.uint64)
    for place, factor in enumerate(_FACTORS):
        mixed = (mixed ^ (mixed >> np.uint64(29))) + padded[place : place + count] * factor
    return mixed


def _lines(windows: Flags) -> Flags:
    """Which lines are in any of the windows."""
    count = len(windows) - _WINDOW + 1
    return np.logical_or.reduce([windows[place : place + count] for place in range(_WINDOW)])


def _removed(lines: Sequence[str], some: Flags, most: Flags) -> Flags:
    """Which lines are boilerplate: those that most pages have, and long lists that some pages have."""
    is_listed = [len(line) <= _LIST_LINE and not line.endswith(SENTENCE_ENDS) for line in lines[: len(some)]]
    repeated = most | (some & np.array(is_listed))
    edges = np.flatnonzero(np.diff(np.concatenate([[False], repeated, [False]])))
    removed = most.copy()
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        if end - start >= LONG_LIST:
            removed[start:end] = True
    return removed


def _without(page: Page, lines: Sequence[str], removed: Flags) -> Page:
    """The page without these lines, unless too little remains."""
    is_kept = [*(~removed).tolist(), *[True] * (len(lines) - len(removed))]
    kept = [line for line, keep in zip(lines, is_kept, strict=True) if keep]
    text = "\n".join(kept)
    if len(kept) == len(lines) or len(text) < ENOUGH:
        return page
    gone = {line for line, keep in zip(lines, is_kept, strict=True) if not keep}.difference(kept)
    return dataclasses.replace(
        page,
        text=text,
        headings=[heading for heading in page.headings if heading not in gone],
        nosnippet=_moved(page.nosnippet, lines, is_kept)[0] if page.nosnippet else [],
        sections=_moved_sections(page.sections, lines, is_kept),
    )


def _moved_sections(sections: Sequence[Section], lines: Sequence[str], is_kept: Sequence[bool]) -> list[Section]:
    """The sections of a text, in the text that has only the kept lines; those whose heading is removed have none."""
    if not sections:
        return []
    offsets, kept = _moved([section.offset for section in sections], lines, is_kept)
    return [
        section._replace(offset=offset, length=section.length if is_whole else 0)
        for section, offset, is_whole in zip(sections, offsets, kept, strict=True)
    ]


def _moved(bounds: Sequence[int], lines: Sequence[str], is_kept: Sequence[bool]) -> tuple[list[int], list[bool]]:
    """Places of a text in the text that has only the kept lines, and whether the line of each is kept."""
    sizes = np.array([len(line) + 1 for line in lines])  # with the line end
    starts = np.cumsum(sizes) - sizes
    removed = np.cumsum(np.where(is_kept, 0, sizes))  # characters, up to and including each line
    moved, kept = list[int](), list[bool]()
    for bound in bounds:
        line = int(np.searchsorted(starts, bound, "right")) - 1
        within = bound - starts[line] if is_kept[line] else sizes[line]
        moved.append(int(starts[line] + within - removed[line]))
        kept.append(is_kept[line])
    return moved, kept
