"""Which segments are merged, what becomes of the index, and what of its history."""

import pytest
from hypothesis import given, strategies as st

from beamtrawl.pipeline.compaction.compact import drop_history
from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest
from beamtrawl.transforms.indexing.live_segments import live_index
from beamtrawl.transforms.indexing.merge_policy import Sized, everything, full_tiers, load_of, merge_group
from beamtrawl.transforms.memory.bounds import MB
from beamtrawl.transforms.settings import Settings, render
from beamtrawl.transforms.tables.table_files import TableFile
from tests.support.command_line import beamtrawl, failure
from tests.support.corpus import commit
from tests.support.index_faults import index_faults
from tests.support.tables import each_row

# Stated here and not imported: a changed limit fails a test.
FAN_IN = 10
LARGE_DOCUMENTS, MAX_DOCUMENTS = 10_000, 200_000
SMALL_DOCUMENTS = 1_000


def of(count: int, documents: int) -> list[Sized]:
    return [Sized(documents, documents)] * count


FEW, TIER = of(1, 100), of(1, SMALL_DOCUMENTS)
# segments, groups that are merged
TIERS = {
    "none": ([], []),
    "fewer than a tier": (FEW * (FAN_IN - 1), []),
    "a full tier": (FEW * FAN_IN, [range(FAN_IN)]),
    "more than that": (FEW * (2 * FAN_IN - 1), [range(2 * FAN_IN - 1)]),
    "two groups": (FEW * 40, [range(20), range(20, 40)]),
    "at most fifty of them": (FEW * 110, [range(50), range(50, 100), range(100, 110)]),
    "the rest waits": (FEW * 109, [range(50), range(50, 100)]),
    "of any sizes in it": ([Sized(n, n) for n in range(1, 11)], [range(10)]),
    "up to the next tier": (FEW * 5 + of(5, 999), [range(10)]),
    "of up to ten times as many": (TIER * 6 + of(4, 9_999), [range(10)]),
    "beyond it": (TIER * 5 + of(5, 10_000), []),
    "of two tiers": (FEW * 9 + TIER * 9, []),
    "the larger of them": (FEW * 9 + TIER * FAN_IN, [range(9, 9 + FAN_IN)]),
    "as many as fit": (of(FAN_IN, 9_000), [range(5)]),
    "large ones never": (of(3 * FAN_IN, LARGE_DOCUMENTS), []),
    "half dead": ([*FEW, Sized(100, 50), *FEW], []),
    "more than half dead": ([*FEW, Sized(100, 49), *FEW], [[1]]),
    "all dead, and full": ([Sized(MAX_DOCUMENTS, 0)], [[0]]),
    "dead ones in a full tier": ([Sized(100, 1)] * FAN_IN, [range(FAN_IN)]),
}


@each_row(TIERS)
def test_which_segments_are_merged_by_themselves(segments, groups):
    assert full_tiers(segments) == [list(group) for group in groups]


SIZES = st.lists(
    st.integers(0, MAX_DOCUMENTS).flatmap(lambda n: st.builds(Sized, st.just(n), st.integers(0, n))), max_size=30
)


@given(SIZES)
def test_merging_everything_leaves_nothing_to_merge(segments):
    groups = everything(segments)
    merged = {number for group in groups for number in group}
    left = [segment for number, segment in enumerate(segments) if number not in merged]
    made = [sum(segments[number].alive for number in group) for group in groups]
    assert sum(made) + sum(s.alive for s in left) == sum(s.alive for s in segments)
    assert all(size <= MAX_DOCUMENTS for size in made)
    assert len(merged) == sum(map(len, groups))
    assert everything([*left, *(Sized(size, size) for size in made)]) == []


@given(st.lists(st.integers(1, 3_000), max_size=400))
def test_merging_full_tiers_keeps_segments_few(rounds):
    """A crawl that adds a segment a round."""
    segments = []
    for size in rounds:
        segments.append(Sized(size, size))
        while groups := full_tiers(segments):
            merged = {number for group in groups for number in group}
            made = [sum(segments[number].alive for number in group) for group in groups]
            segments = [s for n, s in enumerate(segments) if n not in merged] + [Sized(n, n) for n in made]
    assert len(segments) < 2 * FAN_IN + sum(rounds) / LARGE_DOCUMENTS


# documents of a segment, segments of each round
CRAWLS = {
    "20,000 pages": (440, (4, 30, 24, 2)),
    "200,000": (466, (36, 194, 180, 60, 5)),
    "a million": (1_400, (60, 360, 300, 90, 9)),
    "a million, many shards": (600, (130, 512, 512, 180, 20)),
}


@each_row(CRAWLS)
def test_a_document_of_a_large_round_is_rewritten_once(size, rounds):
    segments, rewritten = [], 0
    for count in rounds:
        segments += of(count, size)
        groups = full_tiers(segments)
        made = [sum(segments[number].alive for number in group) for group in groups]
        merged = {number for group in groups for number in group}
        segments = [s for n, s in enumerate(segments) if n not in merged] + [Sized(n, n) for n in made]
        rewritten += sum(made)
    documents = size * sum(rounds)
    assert rewritten <= documents
    assert len(segments) < 2 * FAN_IN + documents / (2 * LARGE_DOCUMENTS)


@pytest.fixture
def crawl(tmp_path):
    """Three rounds: a page is updated, one goes and comes back, one is ranked."""
    directory = CrawlDir(str(tmp_path))
    directory.write_text("crawl.toml", render(Settings()))
    rows = [{"url": f"http://a.test/{n}", "text": f"old lamp{n} shared"} for n in range(6)]
    ranked = [rows[0] | {"anchors": ["beacon"], "link_rank": 2.0}]
    commit(directory, 1, ranked, rows[1:])
    commit(directory, 2, [rows[1] | {"text": "new lamp1 shared"}], gone=["http://a.test/2", "http://a.test/3"])
    commit(directory, 3, [rows[3]], gone=["http://a.test/4"])
    return directory


def answers(directory, as_of=None):
    """What searches find, with all that makes a score."""
    index = Index.open(directory, as_of)
    queries = ("shared", '"new lamp1"', "old", "beacon", "lamp3", "lamp4", "site:a.test")
    return [index.search(query, explain=True) for query in queries]


def folders(directory):
    return {path.rpartition("/")[0] for path in directory.paths("index")}


def test_compact_changes_no_answer_now_or_as_of_any_round(crawl):
    before = {as_of: answers(crawl, as_of) for as_of in (None, 1, 2, 3)}
    assert [found.total for found in before[None]] == [4, 1, 3, 1, 1, 0, 4]
    ran = beamtrawl("compact", crawl.root)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("round 3 compact: 4 segments of the index merged into 1, in ")
    assert len(live_index(crawl.manifests()).segments) == 1
    assert {as_of: answers(crawl, as_of) for as_of in before} == before
    assert beamtrawl("clean", crawl.root).out == "0 files removed\n"

    assert beamtrawl("compact", crawl.root).out == "nothing to merge\n"
    commit(crawl, 4, [{"url": "http://a.test/5", "text": "newer lamp5 shared"}], gone=["http://a.test/0"])
    assert [found.total for found in answers(crawl)] == [3, 1, 1, 0, 1, 0, 3]  # tombstones mask a merged segment
    assert answers(crawl, 3) == before[3]


def test_compact_writes_a_segment_anew_for_a_single_page_that_is_gone(tmp_path):
    directory = CrawlDir(str(tmp_path))
    directory.write_text("crawl.toml", render(Settings()))
    commit(directory, 1, [{"url": f"http://a.test/{n}", "text": "word"} for n in range(6)])
    commit(directory, 2, gone=["http://a.test/0"])
    assert " 1 segment of the index merged into 1, in " in beamtrawl("compact", tmp_path).out
    assert list(index_faults(str(tmp_path), live_index(directory.manifests()))) == []


def test_history_of_the_last_rounds_is_kept_by_rule(crawl):
    beamtrawl("compact", crawl.root)
    commit(crawl, 4, [{"url": "http://a.test/5", "text": "newer lamp5 shared"}], gone=["http://a.test/0"])
    before = {as_of: answers(crawl, as_of) for as_of in (None, 3, 4)}
    assert drop_history(crawl, 4) == 0
    assert drop_history(crawl, 1) == 5
    assert {as_of: answers(crawl, as_of) for as_of in before} == before
    message = "the index as of round 2 was dropped; ask as of round 3 or later"
    assert failure("search", crawl.root, "lamp", "--as-of", "2") == (2, message)


def test_history_is_kept_until_it_is_dropped(crawl):
    before = answers(crawl)
    assert beamtrawl("compact", crawl.root, "--drop-history").out.endswith("5 folders of earlier rounds removed\n")
    ((segment, _, links),) = live_index(crawl.manifests()).segments
    assert folders(crawl) == {segment, links}
    assert answers(crawl) == answers(crawl, 3) == before
    message = "the index as of round 2 was dropped; ask as of round 3 or later"
    assert failure("search", crawl.root, "lamp", "--as-of", "2") == (2, message)
    assert (
        beamtrawl("compact", crawl.root, "--drop-history").out
        == "nothing to merge\n0 folders of earlier rounds removed\n"
    )


def test_an_index_without_any_page_left_has_no_segment(tmp_path):
    directory = CrawlDir(str(tmp_path))
    directory.write_text("crawl.toml", render(Settings()))
    commit(directory, 1, [{"url": "http://a.test/", "text": "word"}])
    commit(directory, 2, gone=["http://a.test/"])
    assert " merged into 0, in " in beamtrawl("compact", tmp_path).out
    assert live_index(directory.manifests()).segments == []
    assert Index.open(directory).search("word").total == 0


def test_a_merge_that_was_not_committed_is_invisible(crawl):
    before = answers(crawl)
    made = merge_group(live_index(crawl.manifests()).segments, crawl.root, 3, [])
    written = sum(len(crawl.paths(file.path)) for file in made)
    assert answers(crawl) == before
    assert beamtrawl("clean", crawl.root).out.endswith(f"{written} files removed\n")
    assert answers(crawl) == before


def test_what_cannot_be_compacted_is_told_in_one_line(tmp_path):
    assert failure("compact", tmp_path)[1].startswith(f"{tmp_path} holds no crawl; start one with")
    directory = CrawlDir(str(tmp_path))
    directory.write_text("crawl.toml", render(Settings()))
    directory.commit(Manifest("seeds", 0, "", (), {}, (), "", ""))
    assert beamtrawl("compact", tmp_path).out == "nothing to merge\n"


# bytes of the files of each group, documents of the largest; pieces, MB held and kept
LOADS = {
    "nothing": ([], 0, (0, 0, 0)),
    "small segments": ([[100_000, 200_000], [50_000]], 2_000, (2, 3, 1)),
    "large ones": ([[9_000_000] * 10], 200_000, (1, 280, 100)),
}


@each_row(LOADS)
def test_what_merging_takes(groups, documents, expected):
    files = [[TableFile("index_file", "x", 0, size, {}) for size in sizes] for sizes in groups]
    pieces, held, kept, _ = load_of(files, documents)
    assert (pieces, held // MB, kept // MB) == expected
