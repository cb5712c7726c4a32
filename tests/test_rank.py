"""`beamtrawl rank`: from links to ranks, anchors and searches."""

import io
from pathlib import Path

import pytest

from runners.console import Console
from runners.ranking import rank_after_crawl
from search.index import Index
from tests.command_line import beamtrawl, failure
from tests.corpus import documents
from transforms.crawl_dir import CrawlDir, Manifest, files_of
from transforms.index import write_segment
from transforms.settings import Ranking, Settings, render
from transforms.tables import HOST_RANKS, RANKS, TableWriter, read_table
from transforms.urls import url_key

HUB, PAGE, OLD, COPY, OTHER = (
    "http://a.test/",
    "http://a.test/page",
    "http://a.test/old",
    "http://a.test/copy",
    "http://b.test/other",
)
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


def write(root, table, round_, rows):
    writer = TableWriter(root, table, round_)
    writer.write_rows(rows)
    return writer.close()


@pytest.fixture
def crawl(tmp_path):
    """A crawl of two rounds, with a segment each."""
    directory = CrawlDir(str(tmp_path))
    directory.write_text("crawl.toml", render(Settings()))
    rows = [
        {
            "source_key": url_key(source),
            "source_url": source,
            "target_key": url_key(target),
            "target_url": target,
            "anchor": anchor,
            "rel": "",
            "kind": "a",
            "round": 2 if source == PAGE else 1,
        }
        | special
        for source, target, anchor, special in LINKS
    ]
    pages = {
        1: [{"url": HUB, "text": "words"}, {"url": OTHER, "text": "more words"}],
        2: [{"url": PAGE, "text": "words"}, {"url": COPY, "duplicate_of": url_key(PAGE)}],
    }
    for round_, found in pages.items():
        table = documents(*(row | {"round": round_} for row in found))
        segment = f"index/round={round_:06d}/shard-0"
        write_segment(directory.root, segment, table.filter(table["duplicate_of"].is_null()))
        files = (
            write(directory.root, "documents", round_, table.to_pylist()),
            write(directory.root, "links", round_, [row for row in rows if row["round"] == round_]),
        )
        directory.commit(Manifest("update", round_, "", files, {}, (), "", "", (segment,)))
    return directory


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
    assert [part.frequencies for part in hit.explanation.parts] == [{"anchors": 2}, {"anchors": 1}]
    assert hit.explanation.links > 1


def test_it_can_be_done_again_and_is_no_part_of_earlier_rounds(crawl):
    assert [beamtrawl("rank", crawl.root).code for _ in range(2)] == [0, 0]
    assert beamtrawl("clean", crawl.root).out == "0 files removed\n"
    assert Index.open(crawl).search("lighthouse").total == 1
    assert Index.open(crawl, as_of=1).search("lighthouse").total == 0
    ran = beamtrawl("sql", crawl.root, "SELECT count(*), count(DISTINCT url) FROM ranks", "--csv")
    assert ran.out.splitlines()[1] == "9,9"


def test_without_links_there_is_nothing_to_rank(tmp_path):
    assert failure("rank", tmp_path / "none")[1].startswith(f"{tmp_path}/none holds no crawl; start one with")
    CrawlDir(str(tmp_path)).commit(Manifest("seeds", 0, "", (), {}, (), "", ""))
    code, message = failure("rank", tmp_path)
    assert (code, message) == (1, f"{tmp_path} has no links yet; go on with: beamtrawl crawl {tmp_path}")


def after_crawl(crawl, **ranking):
    """What the end of a crawl says of its links."""
    rank_after_crawl(crawl, Settings(ranking=Ranking(**ranking)), Console(told := io.StringIO()))
    return told.getvalue()


def test_a_crawl_ends_with_it_if_there_is_something_new(crawl):
    assert after_crawl(crawl, after_crawl=False) == ""
    by_hand = f"beamtrawl rank {crawl.root}\n"
    assert after_crawl(crawl, max_links=17) == f"18 links are not ranked, for ranking.max_links = 17: {by_hand}"
    assert Index.open(crawl).search("beacon").total == 0
    assert after_crawl(crawl, max_links=18).startswith("round 2 rank: 13 links between 9 pages of 3 hosts, in ")
    assert Index.open(crawl).search("beacon").total == 1
    assert after_crawl(crawl) == ""


def test_that_it_fails_is_told_and_fails_no_crawl(crawl):
    before = len(crawl.manifests())
    for file in files_of(crawl.manifests(), "links"):
        Path(crawl.path(file.path)).write_bytes(b"damaged")
    line = after_crawl(crawl)
    assert line.startswith("the links could not be ranked: ")
    assert line.endswith(f"; try again with: beamtrawl rank {crawl.root}\n")
    assert len(crawl.manifests()) == before
