"""`beamtrawl rank`: from links to ranks, anchors and searches."""

import io
from pathlib import Path

import pytest

from beamtrawl.pipeline.compaction.rebuild_index import rebuild_index
from beamtrawl.pipeline.control import StopSignal
from beamtrawl.pipeline.rank import has_unranked_links
from beamtrawl.runners.crawling.console import Console
from beamtrawl.runners.crawling.session import rank_after_crawl
from beamtrawl.runners.progress.outputs import TextOutput
from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest, files_of
from beamtrawl.transforms.settings import Ranking
from beamtrawl.transforms.tables.schemas import HOST_RANKS, RANKS
from beamtrawl.transforms.tables.table_files import TableFile, read_table
from beamtrawl.transforms.urls.canonical import url_key
from tests.support.command_line import beamtrawl, failure
from tests.support.crawls import InProcess
from tests.support.linked_crawls import HUB, OTHER, PAGE, link, make_crawl

OLD, COPY = "http://a.test/old", "http://a.test/copy"
# source, target, anchor, what is special of it
LINKS = [
    (HUB, PAGE, "Lighthouse", {}),
    (OTHER, PAGE, "lighthouse", {}),  # a second host, the same anchor but for its case
    (OTHER, HUB, "Hub", {}),
    (PAGE, HUB, "hub", {"round": 1}),  # gone when the page was visited again
    (PAGE, OTHER, "Other", {"round": 2}),
    (OLD, PAGE, "", {"kind": "redirect"}),
    (HUB, OLD, "beacon", {}),  # which redirects to the page
    (HUB, COPY, "fog signal", {}),  # which has the page's content
    (HUB, OTHER, "»", {}),
    (HUB, OTHER, "B.test/other", {}),  # its address, which is a field of its own
    (OTHER, HUB, "a.test/p", {}),  # another's
    (HUB, OTHER, "bought", {"rel": "external NoFollow"}),
    (HUB, OTHER, "picture", {"kind": "img"}),
    (HUB, HUB, "self", {}),
    *((OTHER, f"http://c.test/{n}", "Next", {}) for n in range(4)),  # says nothing of any
]


@pytest.fixture
def crawl(tmp_path):
    """A crawl of two rounds, with a segment each."""
    rows = [link(source, target, anchor, 2 if source == PAGE else 1, **more) for source, target, anchor, more in LINKS]
    pages = {
        1: [{"url": HUB, "text": "words"}, {"url": OTHER, "text": "more words"}],
        2: [{"url": PAGE, "text": "words"}, {"url": COPY, "duplicate_of": url_key(PAGE)}],
    }
    return make_crawl(tmp_path, pages, rows)


def table(directory, name, schema):
    return read_table(directory.root, [f.path for f in files_of(directory.manifests(), name)], schema).to_pylist()


def test_ranks_anchors_and_searches(crawl):
    before = Index.open(crawl).search("lighthouse beacon")
    ran = beamtrawl("rank", crawl.root)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("round 2 rank: 13 links between 9 pages of 3 hosts, in ")

    ranks = {row["url"]: row for row in table(crawl, "ranks", RANKS)}
    assert ranks[PAGE]["anchors"] == [
        {"anchor": "Lighthouse", "hosts": 2},
        {"anchor": "beacon", "hosts": 1},
        {"anchor": "fog signal", "hosts": 1},
    ]
    assert {url: [a["anchor"] for a in row["anchors"]] for url, row in ranks.items() if url != PAGE} == {
        HUB: ["Hub", "a.test/p"],
        OTHER: ["Other"],
        OLD: [],
        COPY: [],
        **{f"http://c.test/{n}": [] for n in range(4)},
    }
    assert {url: (row["links"], row["link_hosts"]) for url, row in ranks.items() if row["links"]} == {
        PAGE: (2, 2),
        HUB: (1, 1),
        OTHER: (2, 1),
        **{f"http://c.test/{n}": (1, 1) for n in range(4)},
    }
    assert ranks[PAGE]["link_rank"] > ranks[HUB]["link_rank"] > ranks[OLD]["link_rank"] > 0
    hosts = {row["host"]: (row["centrality"], row["link_hosts"]) for row in table(crawl, "host_ranks", HOST_RANKS)}
    assert hosts == {"a.test": (1.0, 1), "b.test": (1.0, 1), "c.test": (1.5, 1)}

    (hit,) = Index.open(crawl).search("lighthouse beacon", explain=True).hits
    assert (before.total, hit.url) == (0, PAGE)
    assert [part.frequencies for part in hit.explanation.parts] == [
        {"anchors": 2},
        {"anchors": 1},
    ] * 2  # in all forms, and exact
    assert hit.explanation.links > 1


def test_it_can_be_done_again_and_is_no_part_of_earlier_rounds(crawl):
    assert [beamtrawl("rank", crawl.root).code for _ in range(2)] == [0, 0]
    assert beamtrawl("clean", crawl.root).out == "0 files removed\n"
    assert Index.open(crawl).search("lighthouse").total == 1
    assert Index.open(crawl, as_of=1).search("lighthouse").total == 0
    ran = beamtrawl("sql", crawl.root, "SELECT count(*), count(DISTINCT url) FROM ranks", "--csv")
    assert ran.out.splitlines()[1] == "9,9"


def test_links_are_ranked_after_updates_that_change_what_ranking_reads():
    def step(kind: str, round_: int, *tables: str) -> Manifest:
        files = tuple(TableFile(table, f"{table}/{round_}", 1, 1, {}) for table in tables)
        return Manifest(kind, round_, "", files, {}, (), "", "")

    first, ranked = step("update", 1, "links"), step("rank", 1, "ranks")
    unchanged, second, third = step("update", 2, "urls"), step("update", 3, "documents"), step("update", 3, "links")
    steps = [[first], [first, ranked], [first, ranked, unchanged]]
    steps += [[first, ranked, unchanged, second], [first, ranked, third], [step("update", 1, "documents")], []]
    forgotten = [step("update", 1), ranked, step("update", 2), step("compact", 2, "links")]  # files that were merged
    assert [has_unranked_links(some) for some in [*steps, forgotten]] == [
        *(True, False, False, True, True, False, False),
        True,
    ]


def test_without_links_there_is_nothing_to_rank(tmp_path):
    assert failure("rank", tmp_path / "none")[1].startswith(f"{tmp_path}/none holds no crawl; start one with")
    CrawlDir(str(tmp_path)).commit(Manifest("seeds", 0, "", (), {}, (), "", ""))
    code, message = failure("rank", tmp_path)
    assert (code, message) == (1, f"{tmp_path} has no links yet; go on with: beamtrawl crawl {tmp_path}")


def after_crawl(crawl, **ranking):
    """What the end of a crawl says of its links."""
    console = Console([TextOutput(told := io.StringIO())])
    rank_after_crawl(crawl, Ranking(**ranking), InProcess(), console, StopSignal())
    return told.getvalue()


def test_a_crawl_ends_with_it_if_there_is_something_new(crawl):
    assert after_crawl(crawl, after_crawl=False) == ""
    assert Index.open(crawl).search("beacon").total == 0
    assert after_crawl(crawl).startswith("round 2 rank: 13 links between 9 pages of 3 hosts, in ")
    assert Index.open(crawl).search("beacon").total == 1
    assert after_crawl(crawl) == ""


def test_ranks_that_a_killed_rebuild_has_lost_are_made_anew(crawl):
    """By the end of the next crawl, whatever the settings say, and by `compact`."""
    for mend in (lambda: after_crawl(crawl, after_crawl=False), lambda: beamtrawl("compact", crawl.root).out):
        beamtrawl("rank", crawl.root)
        rebuild_index(crawl, InProcess(), False)  # after which the program is killed
        assert Index.open(crawl).search("beacon").total == 0
        assert "round 2 rank: 13 links between 9 pages of 3 hosts, in " in mend()
        assert Index.open(crawl).search("beacon").total == 1
        assert " rank: " not in mend()


def test_that_it_fails_is_told_and_fails_no_crawl(crawl):
    before = len(crawl.manifests())
    for file in files_of(crawl.manifests(), "links"):
        Path(crawl.path(file.path)).write_bytes(b"damaged")
    line = after_crawl(crawl)
    assert line.startswith("the links could not be ranked: ")
    assert line.endswith(f"; try again with: beamtrawl rank {crawl.root}\n")
    assert len(crawl.manifests()) == before
