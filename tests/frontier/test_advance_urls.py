"""What an update step writes of URLs and of the frontier: changes only."""

from collections import Counter

import apache_beam as beam
import pyarrow as pa
import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing.util import assert_that

from beamtrawl.transforms.aliases.learned_rules import InForce, KnownRules
from beamtrawl.transforms.duplicates.clusters import VERDICTS
from beamtrawl.transforms.frontier import advance_urls
from beamtrawl.transforms.frontier.advance_urls import AdvanceUrls, ReadMatchingWaiting, ScanTrapped, changes
from beamtrawl.transforms.frontier.files import write_frontier
from beamtrawl.transforms.settings import Settings, Traps
from beamtrawl.transforms.storage.batches import from_ipc, split
from beamtrawl.transforms.storage.bloom import Bloom
from beamtrawl.transforms.storage.exchange import CANDIDATES, FACTS
from beamtrawl.transforms.storage.key_scan import Wanted
from beamtrawl.transforms.storage.schemas import FRONTIER, FRONTIER_LEFT, KEY, TRAP_QUEUES, URLS
from beamtrawl.transforms.storage.table_files import TableWriter, read_table
from beamtrawl.transforms.storage.waiting import MATCHED, Waiting
from beamtrawl.transforms.urls.canonical import url_key
from tests.frontier.test_url_states import due, found, known, visited
from tests.traps.test_judge import TRAPPED


def at(row, path, number):
    """A row of the frontier with its position."""
    return row | {"path": path, "number": number}


def test_only_changed_rows_are_written_and_all_others_of_a_url_leave():
    waits, changed, visit = due("/a"), due("/b"), due("/c")
    new, better = due("/d"), changed | {"depth": 0}
    assert changes([waits, changed, visit], [waits, better, new]) == ([better, new], [changed, visit])
    equal = dict(waits)  # an equal row is another row
    assert changes([waits], [equal]) == ([equal], [waits])


@pytest.mark.parametrize("shards", [1, 3])
def test_a_round_writes_the_changed_urls_and_the_changes_of_the_frontier(tmp_path, shards):
    root, path = str(tmp_path), "frontier/round=000004/x.parquet"
    sides = {
        "candidates": (CANDIDATES, [found("/new", 2)]),
        "facts": (FACTS, [visited("/a")]),
        "earlier": (URLS, [known("/a"), known("/b")]),
        "frontier": (MATCHED, [at(due("/a"), path, 7), at(due("/b", reason="seed"), path, 9)]),
        "near": (VERDICTS, [{"url_key": url_key("/a"), "near_duplicate_of": url_key("/b"), "host": "a.test"}]),
    }

    def check(files):
        by_table = {}
        for file in files:
            by_table.setdefault(file.table, []).append(file)
        assert by_table.keys() == {"urls", "frontier", "frontier_left"}
        assert all(f.path.startswith("frontier/round=000006/") for f in by_table["frontier"])
        urls = read_table(root, [f.path for f in by_table["urls"]], URLS).to_pylist()
        assert {(r["url"], r["state"], r["round"]) for r in urls} == {("/a", "fetched", 5), ("/new", "due", 5)}
        assert {r["url"]: r["near_duplicate_of"] for r in urls} == {"/a": url_key("/b"), "/new": None}
        written = read_table(root, [f.path for f in by_table["frontier"]], FRONTIER).to_pylist()
        assert [(r["url"], r["reason"]) for r in written] == [("/new", "new")]
        assert [f.counts for f in by_table["frontier"]] == [{"new": 1}]
        left = read_table(root, [f.path for f in by_table["frontier_left"]], FRONTIER_LEFT).to_pylist()
        assert left == [{"path": path, "number": 7, "url_key": url_key("/a"), "reason": "new", "round": 5}]

    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        collections = {
            name: pipeline | name >> beam.Create(list(split(pa.Table.from_pylist(rows, schema=schema), "url_key", 4)))
            for name, (schema, rows) in sides.items()
        }
        in_force = pipeline | "Rules" >> beam.Create([InForce.of(KnownRules.of([]), [])])
        held, queues = (pipeline | name >> beam.Create([]) for name in ("Held", "NoQueues"))
        step = AdvanceUrls(root, 5, Settings(), 4, shards, in_force, held, queues)
        assert_that(collections | step, check)


TRAP = [f"http://a.test/a/{one}{other}" for one in "abcdefgh" for other in "ijklm"]
KEPT = ["http://a.test/b/x", "http://c.test/a/1"]


def test_what_is_held_leaves_and_what_waits_is_counted(tmp_path):
    """Of two trapped URLs one is new in this round, and one URL of the host is visited."""
    root = str(tmp_path)
    own = {"referrer": None, "links_without_news": True}
    rows = [due(url, host=url.split("/")[2], depth=3, **own) for url in (*TRAP, *KEPT)]
    file = write_frontier(root, 5, rows)
    gone = TRAP[3]
    number = sorted([(r["host"], r["url"]) for r in rows]).index(("a.test", gone))
    writer = TableWriter(root, "frontier_left", 4)
    writer.write_rows([{"path": file.path, "number": number, "url_key": url_key(gone), "reason": "new", "round": 4}])
    waiting = Waiting((file.path,), (writer.close().path,), 4)
    facts = [visited(KEPT[0], host="a.test")]
    earlier = [known(url) for url in (*TRAP, *KEPT)]
    new = found("http://a.test/a/new", 3) | {"host": "a.test", "links_without_news": True}

    def check(files):
        read = {
            table: read_table(root, [f.path for f in files if f.table == table], schema).to_pylist()
            for table, schema in (
                ("frontier", FRONTIER),
                ("frontier_left", FRONTIER_LEFT),
                ("trap_queues", TRAP_QUEUES),
            )
        }
        assert read["frontier"] == []  # the new one is held too
        assert {r["url_key"] for r in read["frontier_left"]} == {url_key(u) for u in (*TRAP, KEPT[0]) if u != gone}
        queues = {(r["template"], r["kind"]): (r["waiting"], r["held"]) for r in read["trap_queues"]}
        assert queues == {("", ""): (0, 40), ("/a/*", "links_without_news"): (0, 40)}
        assert {(r["host"], r["round"]) for r in read["trap_queues"]} == {("a.test", 5)}

    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        trapped = pipeline | "Trapped" >> beam.Create(list(TRAPPED))
        scanned = pipeline | ScanTrapped(root, waiting, 2, Traps(), trapped)
        bloom = Bloom(100)
        bloom.add(pa.array([url_key(url) for url in (*TRAP, KEPT[0])], KEY))
        keys = pipeline | "Keys" >> beam.Create([Wanted("host", ["a.test"], "url_key", bloom)])
        tables = {"candidates": (CANDIDATES, [new]), "facts": (FACTS, facts), "earlier": (URLS, earlier)}
        sides = {
            name: pipeline | name >> beam.Create(list(split(pa.Table.from_pylist(some, schema=schema), "url_key", 2)))
            for name, (schema, some) in tables.items()
        }
        sides["frontier"] = pipeline | ReadMatchingWaiting(root, waiting, 2, keys)
        in_force = pipeline | "Rules" >> beam.Create([InForce.of(KnownRules.of([]), [])])
        step = AdvanceUrls(root, 5, Settings(), 2, 1, in_force, trapped, scanned.queues)
        assert_that(sides | step, check)
        assert_that(
            scanned.held | beam.FlatMap(lambda batch: from_ipc([batch[1]], FRONTIER)["url"].to_pylist()),
            lambda urls: Counter(urls) == Counter(url for url in TRAP if url != gone),
        )


def test_no_file_is_opened_without_traps():
    scan = advance_urls._ScanTrappedFn("/nowhere", [], 1, Traps())
    assert list(scan.process("frontier/missing.parquet", [])) == []
