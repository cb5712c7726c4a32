"""`beamtrawl rank`: from links to ranks, anchors and searches."""

import hashlib
import io
import random
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beamtrawl.pipeline.compaction.rebuild_index import rebuild_index
from beamtrawl.pipeline.control import StopSignal
from beamtrawl.pipeline.rank import has_unranked_links, rank
from beamtrawl.runners.crawling.console import Console
from beamtrawl.runners.crawling.session import rank_after_crawl
from beamtrawl.runners.engines.stock import StockEngine
from beamtrawl.runners.progress.outputs import TextOutput
from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest, files_of
from beamtrawl.transforms.indexing.write_segment import write_segment
from beamtrawl.transforms.memory.bounds import PARTITION_LINKS
from beamtrawl.transforms.ranking import rank_tables
from beamtrawl.transforms.ranking.partition_links import BLOCK
from beamtrawl.transforms.ranking.read_links import parts_of, read_part
from beamtrawl.transforms.settings import Ranking, Settings, render
from beamtrawl.transforms.tables.schemas import HOST_RANKS, RANKS
from beamtrawl.transforms.tables.table_files import TableFile, TableWriter, open_parquet, read_table
from beamtrawl.transforms.urls.canonical import url_key
from tests.support.command_line import beamtrawl, failure
from tests.support.corpus import documents
from tests.support.crawls import InProcess

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


def link(source, target, anchor, round_, **special):
    """A row of `links`."""
    ends = {"source_key": url_key(source), "source_url": source, "target_key": url_key(target), "target_url": target}
    return ends | {"anchor": anchor, "rel": "", "kind": "a", "round": round_} | special


@pytest.fixture
def crawl(tmp_path):
    """A crawl of two rounds, with a segment each."""
    rows = [link(source, target, anchor, 2 if source == PAGE else 1, **more) for source, target, anchor, more in LINKS]
    pages = {
        1: [{"url": HUB, "text": "words"}, {"url": OTHER, "text": "more words"}],
        2: [{"url": PAGE, "text": "words"}, {"url": COPY, "duplicate_of": url_key(PAGE)}],
    }
    return make_crawl(tmp_path, pages, rows)


def make_crawl(path, pages, rows):
    """A crawl with an index segment, of the documents that are no duplicates, for each round, and these links."""
    directory = CrawlDir(str(path))
    directory.write_text("crawl.toml", render(Settings()))
    for round_, found in pages.items():
        table = documents(*(row | {"round": round_} for row in found))
        segment = f"index/round={round_:06d}/shard-0000-0123456789abcdef"
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
    assert [has_unranked_links(some) for some in steps] == [True, False, False, True, True, False, False]


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


UNLINKED = "http://nobody.test/links"


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


def ranked(directory, partitions=1, engine=None):
    """All that ranking writes: `ranks` and `host_ranks` by name, and the folder of each segment."""
    manifest = rank(directory, engine or InProcess(), datetime(2026, 1, 1, tzinfo=UTC), partitions=partitions)
    rows = {}
    for name, schema, key in (("ranks", RANKS, "url"), ("host_ranks", HOST_RANKS, "host")):
        paths = [file.path for file in files_of([manifest], name)]
        rows |= {row[key]: row for row in read_table(directory.root, paths, schema).to_pylist()}
    said = []
    for segment, folder in sorted(manifest.index_links.items()):
        with open_parquet(directory.root, f"{folder}/docs.parquet") as docs:
            link_ranks = docs.read().to_pylist()
        postings = [Path(directory.path(path)).read_bytes() for path in directory.paths(folder) if "docs" not in path]
        said.append((segment, link_ranks, postings))
    return rows, manifest.counters, said


@pytest.mark.parametrize(
    ("seed", "engine"), [(0, InProcess()), (1, StockEngine([], []))], ids=["in this process", "Beam"]
)
def test_links_of_several_blocks_are_ranked_as_those_of_one_partition(tmp_path, seed, engine):
    directory = random_crawl(tmp_path, seed)
    assert_same(ranked(directory, 2 * BLOCK + 1, engine), ranked(directory))


def test_so_are_the_links_from_above(crawl):
    assert_same(ranked(crawl, 2 * BLOCK), ranked(crawl))
    assert crawl.names("attempts") == []


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


def test_links_of_a_page_that_redirects_to_another_site_are_not_those_of_that_site(tmp_path):
    """Nor do they take its rank or its votes; the links to the page count for what it redirects to."""
    thief, spoils, moved = "http://b.test/thief", "http://c.test/spoils", "http://a.test/moved"
    rows = [link(HUB, PAGE, "Lighthouse", 1), link(HUB, moved, "old beacon", 1)]
    rows += [link(thief, PAGE, "", 1, kind="redirect"), link(thief, spoils, "spoils", 1)]
    rows += [link(OTHER, thief, "way in", 1)]
    rows += [link(moved, PAGE, "", 1, kind="redirect"), link(moved, f"{PAGE}/2", "Second", 1)]
    pages = [{"url": url, "text": "words"} for url in (HUB, PAGE, thief, spoils, moved)]
    directory = make_crawl(tmp_path, {1: pages}, rows)
    found = ranked(directory)[0]
    said = {url: [vote["anchor"] for vote in row["anchors"]] for url, row in found.items() if "anchors" in row}
    assert said[PAGE] == ["Lighthouse", "old beacon", "way in"]
    assert (said[spoils], said[f"{PAGE}/2"]) == (["spoils"], ["Second"])
    assert found[spoils]["link_rank"] < found[f"{PAGE}/2"]["link_rank"]  # which is linked by the page that all link
    assert found["c.test"]["link_hosts"] == 1
    assert found["b.test"]["link_hosts"] == 0


def test_each_section_that_a_link_leads_to_is_a_further_vote(tmp_path):
    """60 links may lead to a million sections, which are what takes memory."""
    ids = [{"id": f"i{n}", "anchor": "x"} for n in range(30)]
    fragments = [None, [], ids[:1], ids]
    rows = [link(HUB, f"{OTHER}{n}", "x", 1, fragments=some) for n, some in enumerate(fragments)]
    directory = make_crawl(tmp_path, {1: [{"url": HUB, "text": "words"}]}, rows)
    paths = [file.path for file in files_of(directory.manifests(), "links")]
    assert [part.votes for part in parts_of(directory.root, paths)] == [4 + 31]
    assert ranked(directory)[1] == {"links": 4, "pages": 5, "hosts": 2}


def test_a_host_has_one_vote_for_a_page_and_a_name(tmp_path):
    """Whatever sections it gives that name, and with whatever common words. The hit leads to that of most hosts."""
    ids = [
        {"id": i, "anchor": text} for i, text in zip("abcd", ("Optics", "optics", "OPTICS", "the optics"), strict=True)
    ]
    rows = [link(OTHER, PAGE, "", 1, fragments=ids), link("http://c.test/", PAGE, "", 1, fragments=ids[1:2])]
    directory = make_crawl(tmp_path, {1: [{"url": PAGE, "text": "optics"}]}, rows)
    ranked(directory)
    (hit,) = Index.open(directory).search("optics", explain=True).hits
    assert [part.frequencies["anchors"] for part in hit.explanation.parts if "anchors" in part.frequencies] == [2]
    assert hit.section_url == f"{PAGE}#b"


def test_a_name_that_is_a_part_of_the_query_counts_by_its_share(tmp_path):
    """Of words that are as frequent, one is half of two; of several names of a page the best one counts."""
    ids = [{"id": i, "anchor": text} for i, text in (("a", "optics"), ("b", "bench"), ("c", "optics bench"))]
    texts = [link(HUB, PAGE, "", 1, fragments=ids[:1]), link(HUB, OTHER, "", 1, fragments=ids[1:])]
    pages = [{"url": url, "text": "optics bench"} for url in (PAGE, OTHER)]
    directory = make_crawl(tmp_path, {1: pages}, texts)
    ranked(directory)

    def scores(query):
        hits = Index.open(directory).search(query, explain=True).hits
        parts = [(hit.url, part) for hit in hits for part in hit.explanation.parts if part.text.startswith("#")]
        return {(url, part.text): part.score for url, part in parts}

    alone, both = scores("optics"), scores("optics bench")
    assert [*alone] == [(PAGE, "#optics")] and {*both} == {(PAGE, "#optics"), (OTHER, "#optics bench")}
    assert [*scores("bench")] == [(OTHER, "#bench")]  # the names of one page are not those of another
    assert both[PAGE, "#optics"] == pytest.approx(alone[PAGE, "#optics"] / 2)
    assert both[OTHER, "#optics bench"] > 2 * both[PAGE, "#optics"]


def ranks_of(path, texts):
    """The link rank of each target of links, given as (source, target, anchor)."""
    directory = make_crawl(path, {1: [{"url": HUB, "text": "words"}]}, [link(*text, 1) for text in texts])
    return {url: row["link_rank"] for url, row in ranked(directory)[0].items()}


def test_what_all_pages_repeat_endorses_less_than_what_they_say_in_their_own_words(tmp_path):
    """As links of a menu and of the text do."""
    pages = [f"{HUB}{n}" for n in range(9)]
    menu = [(page, f"{HUB}license", "License") for page in pages]
    text = [(page, f"{HUB}guide", f"how the guide treats case {n}") for n, page in enumerate(pages)]
    found = ranks_of(tmp_path, menu + text)
    assert found[f"{HUB}guide"] > 2 * found[f"{HUB}license"] > 2 * found[HUB + "0"]


def test_pages_that_only_menus_lead_to_are_ranked_by_them(tmp_path):
    """A page passes on all of its rank, whatever its links are; and no other host takes from it."""
    pages = [f"{HUB}{n}" for n in range(4)]
    menu = [(page, other, f"Page {other}") for page in pages for other in pages if page != other]
    alone = ranks_of(tmp_path / "alone", menu)
    assert [alone[page] for page in pages] == pytest.approx([1] * 4)
    rival = [(f"{OTHER}{n}", pages[0], f"Page {pages[0]}") for n in range(9)]
    found = ranks_of(tmp_path / "rival", menu + rival)
    assert found[pages[0]] > found[pages[1]] == pytest.approx(found[pages[2]])


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
