"""Seeds: lines that hold URLs, and what becomes of them in a crawl."""

from datetime import UTC, datetime

import pytest

from beamtrawl.pipeline.seeds import Added, Seed, add_seeds, parse_seeds
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest, files_of, frontier_files
from beamtrawl.transforms.tables.schemas import FRONTIER, SEEDS, URLS
from beamtrawl.transforms.tables.table_files import TableWriter, read_table
from beamtrawl.transforms.urls.canonical import url_key
from tests.support.tables import each_row

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
A, B = Seed("http://a.test/"), Seed("http://b.test:8080/x", "news")

# a line, the seed in it
GOOD = {
    "a URL": ("http://a.test/x", Seed("http://a.test/x")),
    "in canonical form": ("HTTP://A.test:80/./%7ex#top", Seed("http://a.test/~x")),
    "metadata": ("http://a.test/\tnews", Seed("http://a.test/", "news")),
    "metadata with tabs": ("http://a.test/\tnews\tko", Seed("http://a.test/", "news\tko")),
    "empty metadata": ("http://a.test/\t", Seed("http://a.test/")),
    "spaces around it": ("  http://a.test/ \t news \n", Seed("http://a.test/", " news")),
    "another script": ("https://한국.example/가", Seed("https://xn--3e0b707e.example/%EA%B0%80")),
}


@each_row(GOOD)
def test_a_line_holds_a_url_and_perhaps_metadata(line, seed):
    assert parse_seeds([line], "seeds.txt") == ([seed], [])


@pytest.mark.parametrize("line", ["", "   ", "\t", "# comment", "  # http://a.test/"])
def test_empty_lines_and_comments_are_passed_over(line):
    assert parse_seeds([line], "seeds.txt") == ([], [])


ABSOLUTE = "not an absolute URL; it must start with http:// or https://"
# a line, what is wrong with it
BAD = {
    "no scheme": ("a.test/x", ABSOLUTE),
    "a path": ("/x", ABSOLUTE),
    "words": ("my favourite page", ABSOLUTE),
    "a mail address": ("mailto:a@b.test", ABSOLUTE),
    "another scheme": ("ftp://a.test/", "only http and https URLs can be crawled"),
    "no host": ("http://", "not a URL"),
    "an impossible port": ("http://a.test:99999/", "not a URL"),
    "a host that cannot be looked up": ("http://a*b.test/", "not a URL"),
    "stray bytes of a command line": ("http://a.test/\udcff", "the byte 0xff is not UTF-8"),
}


@each_row(BAD)
def test_a_bad_line_is_named_with_its_number_and_skipped(line, problem):
    lines = ["# seeds", "http://a.test/", line, "http://b.test/"]
    seeds, (bad,) = parse_seeds(lines, "seeds.txt")
    assert [seed.url for seed in seeds] == ["http://a.test/", "http://b.test/"]
    assert str(bad) == f"seeds.txt, line 3: {line!r} is skipped: {problem}"
    assert str(parse_seeds(lines, option="--seed")[1][0]) == f"--seed {line!r} is skipped: {problem}"


def test_a_long_bad_line_is_cut_in_the_message():
    _, (bad,) = parse_seeds(["x" * 10_000], "seeds.txt")
    assert len(str(bad)) < 400


@pytest.fixture
def crawl(tmp_path):
    return CrawlDir(str(tmp_path))


def add(crawl, *seeds):
    return add_seeds(crawl, seeds, "digest", NOW)


def rows(crawl, table, schema):
    return read_table(crawl.root, [file.path for file in files_of(crawl.manifests(), table)], schema).to_pylist()


def commit(crawl, step, round_, **fields):
    fields = {"files": (), "consumed": ()} | fields
    crawl.commit(Manifest(step, round_, "", counters={}, started_at="", ended_at="", **fields))


def test_the_first_seeds_start_a_crawl(crawl):
    assert add(crawl, A, B) == Added(new=2, again=0, known=0)
    assert crawl.names("manifests") == ["000000-seeds.json"]
    (manifest,) = crawl.manifests()
    assert (manifest.counters, manifest.settings_digest) == ({"seeds": 2}, "digest")
    assert manifest.started_at == "2026-03-01T12:00:00.000+00:00"
    (frontier,) = frontier_files([manifest])
    assert frontier.path.startswith("frontier/round=000001/")
    assert frontier.counts == {"seed": 2}


def test_a_seed_is_due_now_at_depth_0_and_keeps_its_metadata(crawl):
    add(crawl, B)
    ((due,), (url,), (seed,)) = (rows(crawl, *of) for of in (("frontier", FRONTIER), ("urls", URLS), ("seeds", SEEDS)))
    key = {"url_key": url_key(B.url), "url": B.url, "host": "b.test:8080"}
    assert seed == key | {"metadata": "news", "kind": None}
    assert due == dict.fromkeys(FRONTIER.names) | key | {
        "depth": 0,
        "priority": 1.0,
        "reason": "seed",
        "discovered_round": 0,
        "redirects": 0,
        "failures": 0,
    }
    assert url == dict.fromkeys(URLS.names) | key | {
        "state": "due",
        "depth": 0,
        "score": 1.0,
        "discovered_round": 0,
        "fetches": 0,
        "failures": 0,
        "changes": 0,
        "reason": "seed",
        "round": 0,
    }


def test_a_seed_that_is_given_twice_counts_once(crawl):
    assert add(crawl, A, A, B) == Added(new=2, again=0, known=0)
    assert len(rows(crawl, "frontier", FRONTIER)) == 2


def test_more_seeds_stand_beside_the_first_and_known_ones_stay_as_they_are(crawl):
    add(crawl, A)
    assert add(crawl, A, B) == Added(new=1, again=0, known=1)
    assert len(crawl.names("manifests")) == 2
    assert [row["url"] for row in rows(crawl, "seeds", SEEDS)] == [A.url, B.url]
    assert add(crawl, A, B) == Added(new=0, again=0, known=2)
    assert len(crawl.names("manifests")) == 2


def test_a_url_that_the_crawl_found_by_itself_is_known(crawl):
    add(crawl, A)
    writer = TableWriter(crawl.root, "urls", 1)
    writer.write_rows([{"url_key": url_key(B.url), "url": B.url}])
    commit(crawl, "fetch", 1)
    commit(crawl, "update", 1, files=(writer.close(),))
    assert add(crawl, B) == Added(new=0, again=0, known=1)


@pytest.mark.parametrize(
    ("states", "added"),
    [
        (["fetched"], Added(0, 0, 1)),
        (["failed"], Added(0, 1, 0)),
        (["gone"], Added(0, 1, 0)),
        (["denied"], Added(0, 1, 0)),
        (["failed", "fetched"], Added(0, 0, 1)),
        (["fetched", "gone"], Added(0, 1, 0)),
    ],
)
def test_a_url_that_was_visited_to_no_avail_is_asked_for_once_more(crawl, states, added):
    add(crawl, A)
    first = tuple(file.path for file in frontier_files(crawl.manifests()))
    for round_, state in enumerate(states, 1):
        writer = TableWriter(crawl.root, "urls", round_)
        writer.write_rows([{"url_key": url_key(B.url), "url": B.url, "state": state, "round": round_}])
        commit(crawl, "fetch", round_)
        commit(crawl, "update", round_, files=(writer.close(),), consumed=first)
    assert add(crawl, B) == added
    assert [(row["url"], row["reason"]) for row in rows(crawl, "frontier", FRONTIER)[1:]] == [
        (B.url, "seed")
    ] * added.again
    assert len(rows(crawl, "urls", URLS)) == 1 + len(states)


# what is committed besides the first seeds, the round that new seeds wait for
WAITING = {
    "nothing": ([], 1),
    "fetched": (["fetch"], 2),
    "fetched and updated": (["fetch", "update"], 2),
}


@pytest.mark.parametrize(("steps", "round_"), WAITING.values(), ids=WAITING)
def test_new_seeds_wait_for_the_next_round_that_starts(crawl, steps, round_):
    add(crawl, A)
    first = [file.path for file in frontier_files(crawl.manifests())]
    for step in steps:
        commit(crawl, step, 1, consumed=tuple(first) if step == "update" else ())
    add(crawl, B)
    late = [file for file in frontier_files(crawl.manifests()) if file.path not in first]
    assert [file.path.split("/")[1] for file in late] == [f"round=00000{round_}"]
