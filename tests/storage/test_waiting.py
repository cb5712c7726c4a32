"""The waiting URLs: which rows of frontier files have not left, and how many there are by reason."""

import pickle
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest, frontier_files
from beamtrawl.transforms.directory.waiting import (
    Left,
    Waiting,
    count_waiting,
    left_files,
    matching,
    read_waiting,
    reason_now,
    settle,
    waiting_by_reason,
)
from beamtrawl.transforms.frontier.files import frontier_writer
from beamtrawl.transforms.sql.queries import query
from beamtrawl.transforms.tables.bloom import Bloom
from beamtrawl.transforms.tables.key_scan import Wanted
from beamtrawl.transforms.tables.schemas import FRONTIER, KEY
from beamtrawl.transforms.tables.table_files import TableWriter, open_parquet
from beamtrawl.transforms.urls.canonical import url_key


def write(root, round_, rows, size=2):
    """A file of the frontier of rows (URL, reason), with small row groups."""
    writer = frontier_writer(root, round_)
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        fields = [
            {"url_key": url_key(url), "url": url, "host": "a.test", "depth": 1, "priority": 1.0, "reason": why}
            for url, why in part
        ]
        writer.write_rows(fields, Counter(why for _, why in part))
    return writer.close()


def leave(root, round_, rows):
    """A file of frontier_left of rows (path, number, reason)."""
    writer = TableWriter(root, "frontier_left", round_)
    names = ("path", "number", "reason")
    writer.write_rows([dict(zip(names, row, strict=True)) | {"round": round_} for row in rows])
    return writer.close()


def commit(crawl, step, round_, files, consumed=(), suffix=""):
    crawl.commit(Manifest(step, round_, "", tuple(files), {}, tuple(consumed), "2026", "2026"), suffix)


def waiting(crawl):
    """The waiting URLs with their reasons."""
    tables = read_waiting(crawl.root, Waiting.of(crawl.manifests()), ["url", "reason"])
    return sorted((row["url"], row["reason"]) for table in tables for row in table.to_pylist())


# the reason in a file of round 3: that after the update steps of rounds 2 and 3
REASONS = {
    "seed": ("seed", "deferred"),
    "new": ("new", "deferred"),
    "deferred": ("deferred", "deferred"),
    "retry": ("retry", "retry"),
    "recrawl": ("recrawl", "recrawl"),
}


@pytest.mark.parametrize(("reason", "after"), REASONS.items())
def test_a_url_that_a_round_did_not_visit_is_deferred(reason, after):
    path = "frontier/round=000003/x.parquet"
    assert (reason_now(reason, path, 2), reason_now(reason, path, 3)) == after


NAMES = [f"http://a.test/{n}" for n in range(9)]


@settings(max_examples=15)  # each writes a crawl of several rounds
@given(st.lists(st.sets(st.sampled_from(NAMES)), min_size=1, max_size=4), st.data())
def test_waiting_is_what_was_written_and_has_not_left(tmp_path_factory, rounds, data):
    """Each round writes some URLs that do not wait, and some that wait leave; SQL and all counts agree."""
    crawl = CrawlDir(str(tmp_path_factory.mktemp("crawl")))
    expected, positions = {}, {}
    commit(crawl, "seeds", 0, [write(crawl.root, 1, [("http://a.test/seed", "seed")])])
    seeds = frontier_files(crawl.manifests())[0].path
    expected["http://a.test/seed"], positions["http://a.test/seed"] = "seed", (seeds, 0, "seed")
    for round_, names in enumerate(rounds, 1):
        files = []
        gone = data.draw(st.sets(st.sampled_from(sorted(expected)))) if expected else set()
        if gone:
            files.append(leave(crawl.root, round_, [positions.pop(url) for url in sorted(gone)]))
        expected = {
            url: "deferred" if why in ("new", "seed") else why for url, why in expected.items() if url not in gone
        }
        if new := sorted(names - expected.keys()):
            rows = [(url, ("new", "retry")[n % 2]) for n, url in enumerate(new)]
            files.append(write(crawl.root, round_ + 1, rows))
            positions |= {url: (files[-1].path, n, why) for n, (url, why) in enumerate(rows)}
            expected |= dict(rows)
        settled = settle(crawl.root, crawl.manifests(), files)
        assert settled.waiting == len(expected)
        commit(crawl, "update", round_, files, settled.consumed)
        manifests = crawl.manifests()
        assert waiting(crawl) == sorted(expected.items())
        assert waiting_by_reason(crawl.root, manifests) == Counter(expected.values())
        assert count_waiting(crawl) == len(expected)
        in_use = {path for path, _, _ in positions.values()}
        assert {file.path for file in frontier_files(manifests)} == in_use
        assert in_use or not left_files(manifests)
    assert query(crawl, "SELECT url, reason FROM frontier ORDER BY 1")[1] == sorted(expected.items())


def test_sql_shows_each_url_once_and_the_history_has_every_row(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    one, two = (write(crawl.root, 1, [("http://a.test/", "seed")]) for _ in range(2))
    commit(crawl, "seeds", 0, [one])
    commit(crawl, "seeds", 0, [two], suffix="-b")
    assert query(crawl, "SELECT count(*) FROM frontier")[1] == [(1,)]
    assert query(crawl, "SELECT count(*) FROM frontier_history")[1] == [(2,)]
    assert query(crawl, "SELECT * FROM frontier")[0] == FRONTIER.names


def test_matching_rows_have_their_positions(tmp_path):
    file = write(str(tmp_path), 1, [(url, "new") for url in NAMES])
    left = pickle.loads(pickle.dumps(Left(str(tmp_path), [leave(str(tmp_path), 1, [(file.path, 4, "new")]).path])))
    keys = pa.table({"url_key": pa.array([url_key(NAMES[n]) for n in (3, 4, 8)], KEY), "host": ["a.test"] * 3})
    wanted, nothing = Wanted.of(keys, "url_key", "host"), Wanted("host", ["z.test"], "url_key", Bloom(9))
    with open_parquet(str(tmp_path), file.path) as opened:
        tables = list(matching(opened, file.path, left.of(file.path), [nothing, wanted]))
        assert list(matching(opened, file.path, left.of(file.path), [nothing])) == []
    rows = [row for table in tables for row in table.to_pylist()]
    assert [
        (row["url"], row["path"], row["number"]) for row in rows if row["url"] in (NAMES[3], NAMES[4], NAMES[8])
    ] == [
        (NAMES[3], file.path, 3),
        (NAMES[8], file.path, 8),
    ]
