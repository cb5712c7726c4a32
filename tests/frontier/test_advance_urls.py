"""What an update step writes of URLs and of the frontier: changes only."""

from collections import Counter

import apache_beam as beam
import pyarrow as pa
import pytest

from beamtrawl.runners.engines.in_memory import InMemoryRunner
from beamtrawl.transforms.aliases.learned_rules import KnownRules
from beamtrawl.transforms.batches.batch_schemas import CANDIDATES, FACTS
from beamtrawl.transforms.batches.writers import ByPartition, ReportFiles
from beamtrawl.transforms.directory.waiting import MATCHED, Left, Waiting
from beamtrawl.transforms.duplicates.clusters import VERDICTS
from beamtrawl.transforms.files import filesystem
from beamtrawl.transforms.frontier.advance_urls import (
    AdvanceFn,
    ScanTrappedFn,
    WriteFrontier,
    _read_matching,
    changes,
    write_left,
    write_queues,
)
from beamtrawl.transforms.frontier.files import write_frontier
from beamtrawl.transforms.settings import Limits, Traps
from beamtrawl.transforms.tables.batches import from_ipc, to_ipc
from beamtrawl.transforms.tables.bloom import Bloom
from beamtrawl.transforms.tables.key_scan import Wanted
from beamtrawl.transforms.tables.schemas import FRONTIER, FRONTIER_LEFT, KEY, TRAP_QUEUES, URLS
from beamtrawl.transforms.tables.table_files import TableWriter, parse_report, read_table
from beamtrawl.transforms.urls.canonical import url_key
from tests.frontier.test_url_states import due, found, known, visited
from tests.support.outputs import outputs
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


def advanced(root, sides, shards=1, trapped=(), queues=()):
    """The files that the last stages of an update step of round 5 write for the rows of one partition."""
    empty = dict.fromkeys(("candidates", "facts", "earlier", "frontier", "near"), ())
    tables = {name: [to_ipc(pa.Table.from_pylist(rows, schema=schema))] for name, (schema, rows) in sides.items()}
    fn = AdvanceFn(root, 5, Limits(), Traps(), shards, KnownRules.of([]))
    found = outputs(fn.process((0, empty | tables), [], list(trapped)))
    batches = found.get("written", []), found["left"], [*queues, *found.get("queues", ())]
    report = f"{root}/report"
    with beam.Pipeline(runner=InMemoryRunner()) as pipeline:
        written, left, counts = (pipeline | f"Create{n}" >> beam.Create(each) for n, each in enumerate(batches))
        files = [
            written | WriteFrontier(root, 6),
            left | ByPartition(write_left, root, 5),
            counts | beam.combiners.ToList() | beam.FlatMap(write_queues, root, 5),
        ]
        files | beam.Flatten() | ReportFiles(report)
    return [*found["files"], *parse_report(filesystem.read_bytes(report).decode())]


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

    files = advanced(root, sides, shards)
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

    scanned = outputs(ScanTrappedFn(root, waiting.left, 2, Traps()).process(file.path, list(TRAPPED)))
    bloom = Bloom(100)
    bloom.add(pa.array([url_key(url) for url in (*TRAP, KEPT[0])], KEY))
    keys = Wanted("host", ["a.test"], "url_key", bloom)
    left = Left(root, waiting.left)
    read = [_read_matching(path, keys, root=root, left=left, partitions=1) for path in waiting.frontier]
    (matched,) = [data for batches in read for _, data in batches]
    sides = {"candidates": (CANDIDATES, [new]), "facts": (FACTS, facts), "earlier": (URLS, earlier)}
    sides["frontier"] = (MATCHED, from_ipc([matched], MATCHED).to_pylist())
    files = advanced(root, sides, 1, TRAPPED, scanned["queues"])
    tables = (("frontier", FRONTIER), ("frontier_left", FRONTIER_LEFT), ("trap_queues", TRAP_QUEUES))
    rows = {
        table: read_table(root, [f.path for f in files if f.table == table], schema).to_pylist()
        for table, schema in tables
    }
    assert rows["frontier"] == []  # the new one is held too
    assert {r["url_key"] for r in rows["frontier_left"]} == {url_key(u) for u in (*TRAP, KEPT[0]) if u != gone}
    queues = {(r["template"], r["kind"]): (r["waiting"], r["held"]) for r in rows["trap_queues"]}
    assert queues == {("", ""): (0, 40), ("/a/*", "series"): (0, 40)}
    assert {(r["host"], r["round"]) for r in rows["trap_queues"]} == {("a.test", 5)}
    held = from_ipc([data for _, data in scanned["held"]], FRONTIER)["url"].to_pylist()
    assert Counter(held) == Counter(url for url in TRAP if url != gone)


def test_no_file_is_opened_without_traps():
    scan = ScanTrappedFn("/nowhere", [], 1, Traps())
    assert list(scan.process("frontier/missing.parquet", [])) == []
