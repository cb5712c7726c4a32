"""Writes the link data of an index segment: the anchors of the links to its documents, and their link rank.

A segment is written before most of the links to its pages are found, and never changes. So link data has a folder of
its own: `postings` and `forms` of the field `anchors`, which has the names of sections as further terms, alone and
with the id that they lead to, and `docs` with `length_anchors` and `link_rank`, a row for each document of the segment,
in its order. The newest folder of a segment is used.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from ..tables.table_files import TableFile
from . import analysis
from .invert import Inverted, invert, tokens_of
from .segment_files import write_opening
from .write_segment import DOCS, ROW_POSTINGS, with_classes, write_terms

MERGED = "merged"
"""The name of the link folders that a merge writes."""

_TEXTS = 20_000  # that are split at a time


class Name(NamedTuple):
    """What links call a section of a document."""

    hosts: int  # that use it
    id: str  # of the section, or ""


def as_names(texts: pa.Array) -> Iterator[str | None]:
    """`analysis.name` of the terms of each text."""
    for start in range(0, len(texts), _TEXTS):  # the terms of all would take much more memory than the names
        yield from map(analysis.name, tokens_of(texts.slice(start, _TEXTS).to_pylist()))


def links_folder(segment: str, name: str) -> str:
    """The path of the link folder of a segment, under this name."""
    return segment.replace("index/", f"index/links-{name}/", 1)


def invert_links(
    languages: Sequence[str | None], anchors: Sequence[Sequence[str]], names: Sequence[Mapping[str, Name]]
) -> Inverted:
    """The inverted link data of documents, given in the order of their segment.

    `anchors` has the anchor texts of each document, one for each host that uses it, and `names` those of its sections,
    by their terms (`analysis.name`).
    """
    further = {"anchors": _terms_of(names, languages)} if names else None
    return invert({"anchors": ["\n".join(texts) for texts in anchors]}, None, further)


def _terms_of(names: Sequence[Mapping[str, Name]], languages: Sequence[str | None]) -> list[list[tuple[int, str]]]:
    """The further terms of each document: its names, as often as hosts use them, and each with the id once."""
    found = list[list[tuple[int, str]]]()
    classes = with_classes([[(0, term) for term in of_document] for of_document in names], languages)
    for of_document, given in zip(classes, names, strict=True):
        ids, terms = dict[str, str](), list[str]()
        for (_, term), name in zip(of_document, given.values(), strict=True):
            terms += [term] * name.hosts
            ids.setdefault(term, name.id)  # of several names with the same stems, the first
        terms += [analysis.leading_to(term, id_) for term, id_ in ids.items() if id_]
        found.append([(0, term) for term in terms])
    return found


def write_link_index(
    root: str,
    folder: str,
    languages: Sequence[str | None],
    blocks: Iterable[Inverted],
    docs: pa.Table,
    row_postings: int = ROW_POSTINGS,
) -> list[TableFile]:
    """Write the link data of the documents of a segment, and return the files: inverted anchors, in blocks as in
    `write_terms`, and `docs` with the lengths, and with link ranks relative to the mean of all pages."""
    return write_opening(root, f"{folder}/{DOCS}", docs, write_terms(root, folder, blocks, languages, row_postings))
