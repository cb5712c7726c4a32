"""Links that are ranked in partitions, and read and written in parts, have the ranks of those in one."""

import hashlib
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beamtrawl.runners.engines.direct import DirectEngine
from beamtrawl.runners.engines.stock import StockEngine
from beamtrawl.transforms.indexing.write_segment import write_segment
from beamtrawl.transforms.memory.bounds import PARTITION_LINKS
from beamtrawl.transforms.ranking import rank_tables
from beamtrawl.transforms.ranking.partition_links import BLOCK
from beamtrawl.transforms.ranking.read_links import parts_of, read_part
from beamtrawl.transforms.tables.table_files import TableWriter
from beamtrawl.transforms.urls.canonical import url_key
from tests.support.corpus import documents
from tests.support.crawls import InProcess
from tests.support.linked_crawls import HUB, PAGE, link, make_crawl, ranked

UNLINKED = "http://nobody.test/links"


class Apart:
    """Runs each pipeline as one of a long step: pickled, in a process of its own."""

    workers = 2

    def run(self, build, seconds):
        DirectEngine(2).run(build, 100.0)


def random_crawl(path, seed):
    """Some hundred pages of a few hosts with all that may happen to them: redirects, copies, later visits."""
    pick = random.Random(seed)
    urls = [f"http://{pick.choice('abcdefg')}.test/{number}" for number in range(300)]
    visits = [(url, round_) for url in urls[:200] for round_ in pick.choice([(1,), (1, 3), (2,), (2, 3), (3,)])]
    rows, pages = [], {1: [{"url": UNLINKED, "duplicate_of": url_key(urls[0])}], 2: [], 3: []}
    for url, round_ in visits:
        if pick.random() < 0.1:
            rows.append(link(url, pick.choice(urls), "", round_, kind="redirect"))  # in a circle, now and then
            if pick.random() < 0.5:
                continue  # the others are pages with links that redirect by Refresh
        found = {"url": url, "text": "some words"}
        if pick.random() < 0.1:
            found["duplicate_of"] = url_key(pick.choice([pick.choice(urls), UNLINKED]))
        pages[round_].append(found)
        for _ in range(pick.choice([0, 3, 30])):
            target = urls[int(len(urls) * pick.random() ** 3)]
            anchor = pick.choice(["Next", "next", "Guide", "guide", "»", "", None, target[7:], f"Chapter {target[-1]}"])
            anchor = pick.choice(["{}", "{}", "to {}", "{} here", "go to {}"]).format(anchor) if anchor else anchor
            special = dict(
                pick.choice([{}] * 8 + [{"rel": "nofollow"}, {"rel": "prev"}, {"kind": "img"}, {"kind": "area"}])
            )
            names = [pick.choice(["Guide", "the guide", "next()", "Options", "a text of too many words"]) for _ in "12"]
            ids = [pick.choice(["a", "b", "c"]), f"i{pick.randrange(99)}"]
            special["fragments"] = pick.choice(
                [None, [{"id": i, "anchor": a} for i, a in zip(ids, names, strict=True)]]
            )
            rows.append(link(url, target, anchor, round_, **special))
    return make_crawl(path, pages, rows)


def assert_same(found, expected):
    assert found[1] == expected[1]
    for rows in (found[0], expected[0]):
        assert len(rows) > 10
    assert found[0].keys() == expected[0].keys()
    for name, row in expected[0].items():
        assert found[0][name] == row | {"link_rank": pytest.approx(row["link_rank"], rel=1e-6)}
    for (segment, docs, postings), (other, other_docs, other_postings) in zip(found[2], expected[2], strict=True):
        assert (segment, postings) == (other, other_postings)
        for doc, other_doc in zip(docs, other_docs, strict=True):
            assert doc == other_doc | {"link_rank": pytest.approx(other_doc["link_rank"], rel=1e-6)}


@pytest.mark.parametrize(
    ("seed", "engine"),
    [(0, InProcess()), (1, StockEngine([], [])), (2, Apart())],
    ids=["in this process", "Beam", "a long step"],
)
def test_links_of_several_blocks_are_ranked_as_those_of_one_partition(tmp_path, seed, engine):
    directory = random_crawl(tmp_path, seed)
    assert_same(ranked(directory, BLOCK + 1, engine), ranked(directory))
    assert directory.names("attempts") == []


def test_links_of_one_block_have_the_same_ranks_in_any_number_of_partitions(tmp_path):
    """To the bit: the order in which links come does not matter."""
    directory = random_crawl(tmp_path, 2)
    assert ranked(directory, 2) == ranked(directory)


def test_links_are_read_in_parts_of_their_votes(tmp_path):
    writer = TableWriter(str(tmp_path), "links", 1)
    for group in range(5):
        ids = [{"id": f"i{n}", "anchor": "x"} for n in range(PARTITION_LINKS // 4)]
        writer.write_rows([link(f"{HUB}{group}", PAGE, "x", 1, fragments=ids)])
    (path,) = [writer.close().path]
    parts = parts_of(str(tmp_path), [path])
    assert [(part.first, part.groups) for part in parts] == [(0, 3), (3, 2)]
    assert [part.votes for part in parts] == [count * (PARTITION_LINKS // 4 + 1) for count in (3, 2)]
    read = [row for part in parts for row in read_part(str(tmp_path), part, ["source_url", "rel"]).to_pylist()]
    assert read == [{"source_url": f"{HUB}{group}", "rel": ""} for group in range(5)]


def test_links_with_long_sections_have_the_size_of_their_texts(tmp_path):
    """Else many small files of them would be read together."""
    ids = [{"id": f"i{n}", "anchor": hashlib.sha512(bytes([n])).hexdigest() * 500} for n in range(99)]
    writer = TableWriter(str(tmp_path), "links", 1)
    writer.write_rows([link(HUB, PAGE, "x", 1, fragments=ids)])
    (long,) = parts_of(str(tmp_path), [writer.close().path])
    writer = TableWriter(str(tmp_path), "links", 1)
    writer.write_rows([link(HUB, PAGE, "x", 1, fragments=[{"id": "i", "anchor": "x"}] * 99)])
    (short,) = parts_of(str(tmp_path), [writer.close().path])
    assert (long.votes, short.votes) == (100, 100)
    assert short.size in (99, 100)
    assert long.size > 10_000


def test_the_links_of_a_segment_are_inverted_in_parts(tmp_path):
    """The link data says the same, whatever the size of the parts."""
    rows = [{"url": f"http://a.test/{n}", "text": "lamp", "language": ["en", "de"][n % 2]} for n in range(7)]
    write_segment(str(tmp_path), "index/segment", documents(*rows))
    names = [{"anchor": "Rotating lamps", "hosts": 2, "fragment": "lamps"}]
    links = [
        {"link_rank": n / 2, "anchors": [{"anchor": f"lights {n % 3}", "hosts": 1 + n % 2}], "names": names[n % 2 :]}
        for n in range(7)
    ]
    for folder, most, terms in (("whole", 10_000, 4_096), ("parts", 3, 2), ("single", 1, 1)):
        table = pa.Table.from_pylist(links, rank_tables.LINK_DATA)
        rank_tables.add_links(str(tmp_path), "index/segment", folder, table, most, terms)
    whole, *others = (
        [pq.read_table(tmp_path / folder / f"{name}.parquet").to_pylist() for name in ("docs", "postings", "forms")]
        for folder in ("whole", "parts", "single")
    )
    assert len(whole[1]) > 5
    assert others == [whole, whole]
