"""Merging segments gives what indexing their documents together gives."""

from collections.abc import Iterator

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from beamtrawl.transforms.indexing.invert import OWN_FIELDS, Inverted, invert
from beamtrawl.transforms.indexing.merge import Part, merge, merge_blocks, merge_segments, terms_of
from beamtrawl.transforms.indexing.write_segment import write_segment
from beamtrawl.transforms.memory.bounds import ONE, Parts
from tests.support.corpus import documents, write_links

TEXTS = st.lists(st.sampled_from(["a", "b", "runs", "running", "dé", "日本語"]), max_size=6).map(" ".join)
DOCUMENTS = st.lists(st.fixed_dictionaries(dict.fromkeys(OWN_FIELDS, TEXTS)), max_size=5)


def inverted(rows: list[dict]) -> Inverted:
    return invert({field: [row[field] for row in rows] for field in OWN_FIELDS})


def plain(index: Inverted) -> list:
    """An index that can be compared, types included."""
    arrays = [index.starts, index.docs, index.position_starts, index.positions]
    arrays += [*index.frequencies.values(), *index.lengths.values()]
    return [index.terms, list(index.frequencies), list(index.lengths), [(a.dtype.name, a.tolist()) for a in arrays]]


def in_blocks(index: Inverted, pick) -> Iterator[Inverted]:
    """An index in blocks of a few terms; one at least."""
    first = 0
    while not first or first < len(index.terms):
        end = min(first + pick.randint(1, 3), len(index.terms))
        yield terms_of(index, first, end)
        first = end or 1


def by_term(index: Inverted) -> list:
    """The postings and positions of each term."""
    parts = (plain(terms_of(index, number, number + 1)) for number in range(len(index.terms)))
    return list(parts)


@settings(max_examples=100)
@given(st.lists(DOCUMENTS, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_a_merged_index_is_that_of_all_documents_that_are_kept(parts: list[list[dict]], pick) -> None:
    places = [(part, number) for part, rows in enumerate(parts) for number in range(len(rows))]
    kept = [place for place in places if pick.random() < 0.7]
    pick.shuffle(kept)
    numbers = [np.full(len(rows), -1) for rows in parts]
    for new, (part, number) in enumerate(kept):
        numbers[part][number] = new
    expected = inverted([parts[part][number] for part, number in kept])
    assert plain(merge([inverted(rows) for rows in parts], numbers, len(kept))) == plain(expected)

    blocks = list(merge_blocks([in_blocks(inverted(rows), pick) for rows in parts], numbers))
    assert [term for block in blocks for term in block.terms] == expected.terms
    assert [rows for block in blocks for rows in by_term(block)] == by_term(expected)


def row(number: int) -> dict:
    languages = ["en", "de", None]
    return {
        "url": f"http://h{number % 4}.test/{number:03d}",
        "title": f"Gift {number % 7}" if number % 5 else None,
        "text": " ".join(f"word{number * k % 301} running" for k in range(100)),
        "headings": ["Runs"] if number % 2 else None,
        "language": languages[number % 3],
        "noarchive": number % 11 == 0,
        "spam_score": 0.5 if number % 3 else None,
        "anchors": [f"anchor {number % 5}", "more"][: number % 3],
        "link_rank": number / 8,
    }


def write(root: str, folder: str, rows: list[dict], has_links: bool = True) -> None:
    rows = sorted(rows, key=lambda row: row["url"])  # the order of a segment, for these hosts
    write_segment(root, folder, documents(*rows))
    if has_links:
        ranks = np.array([row["link_rank"] for row in rows])
        write_links(root, f"{folder}-links", [r["language"] for r in rows], [r["anchors"] for r in rows], ranks)


def files(path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


@pytest.fixture(scope="module")
def merged(tmp_path_factory):
    """Three segments, the last without links, and all that is kept of them in one: merged, and indexed together."""
    root = tmp_path_factory.mktemp("crawl")
    parts, kept = [], []
    for number in range(3):
        rows = sorted((row(n) for n in range(number, 300, 3)), key=lambda row: row["url"])
        write(str(root), f"index/{number}", rows, has_links=number < 2)
        alive = np.array([hash_ % 5 > 0 for hash_ in range(number, number + len(rows))])
        parts.append(Part(f"index/{number}", f"index/{number}-links" if number < 2 else None, alive))
        unranked = {"anchors": [], "link_rank": 0.0} if number == 2 else {}
        kept += [row | unranked for row, is_kept in zip(rows, alive, strict=True) if is_kept]
    write(str(root), "index/together", kept)
    assert merge_segments(str(root), parts, "index/merged", "index/merged-links")
    return root / "index"


@pytest.mark.parametrize("folder", ["", "-links"])
def test_a_merged_segment_is_the_same_to_the_byte(merged, folder):
    assert files(merged / f"merged{folder}") == files(merged / f"together{folder}")


def test_segments_without_links_stay_without(merged):
    written = merge_segments(str(merged.parent), [Part("index/2", None, np.ones(100, bool))], "index/one", "index/l")
    assert {file.path.rpartition("/")[0] for file in written} == {"index/one"}
    assert files(merged / "one") == files(merged / "2")
    assert not (merged / "l").exists()


# the first documents have large texts; as in memory at a time: all, some of the small texts, few row groups
@pytest.mark.parametrize("sizes", [ONE, Parts(1, 1 << 16), Parts(1, 1 << 10)], ids=["all", "some", "few"])
def test_the_same_segment_by_parts_of_any_size(tmp_path, sizes):
    rows = [
        {"url": f"http://h.test/{n:04d}", "title": f"Page {n}", "text": f"word{n} " * (6_000 if n < 9 else 40)}
        for n in range(400)
    ]
    for number, folder in enumerate(("index/0", "index/1")):
        write(str(tmp_path), folder, rows[number::2], has_links=False)
    write(str(tmp_path), "index/together", rows[:7] + rows[8:], has_links=False)
    parts = [Part(f"index/{n}", None, np.ones(len(rows) // 2, bool)) for n in range(2)]
    parts[1].alive[3] = False
    merge_segments(str(tmp_path), parts, "index/merged", "index/links", sizes=sizes)
    merged, together = (
        {file.name: pq.read_table(file) for file in (tmp_path / "index" / name).iterdir()}
        for name in ("merged", "together")
    )
    assert merged == together
