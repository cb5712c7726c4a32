"""What a fetch step reads of hosts that earlier rounds have met."""

import dataclasses
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.pipeline.fetch import _sources, known_rows
from beamtrawl.transforms.directory.pieces import Leftovers
from beamtrawl.transforms.settings import Politeness
from beamtrawl.transforms.tables.key_scan import Wanted
from beamtrawl.transforms.tables.table_files import TableFile, TableWriter
from tests.support.graph import fetch_step

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)


@pytest.mark.parametrize(("scope", "resting"), [("host", []), ("address", [("resting", "hosts/a")])])
def test_what_earlier_rounds_and_attempts_have_left_is_read(scope: str, resting: list[tuple[str, str]]) -> None:
    files = [TableFile(table, f"{table}/left", 1, 1, {}) for table in ("robots", "visits", "host_turns")]
    step, leftovers = fetch_step(), Leftovers(files, [], [])
    context = dataclasses.replace(step.context, politeness=Politeness(scope=scope))
    paths = {"robots": ["robots/a"], "hosts": ["hosts/a"], "traps": ["traps/a"]}
    step = dataclasses.replace(step, context=context, leftovers=leftovers, **paths)
    assert _sources(step) == [
        ("states", leftovers),
        ("robots", "robots/a"),
        ("robots", "robots/left"),
        ("hosts", "hosts/a"),
        *resting,
        ("traps", "traps/a"),
        ("visited", "visits/left"),
    ]


def known(root: Path, kind: str, table: str, rows: list[dict[str, Any]], **changes: Any) -> dict[str, dict[str, Any]]:
    """The rows of a table that a step reads of the hosts a.test and b.test, by host."""
    writer = TableWriter(str(root), table, 1)
    writer.write_rows(rows)
    file = writer.close()
    assert file is not None
    hosts = Wanted("host", ["a.test", "b.test"])
    politeness = Politeness(delay=1.0, shared_delay=10.0, response_factor=0.0)
    return dict(known_rows((kind, file.path), hosts, str(root), politeness, NOW, **({"other_rounds": ()} | changes)))


def test_robots_txt_of_a_day_but_for_those_out_of_reach(tmp_path: Path) -> None:
    rows = [
        {"host": "a.test", "origin": origin, "fetched_at": NOW - age, "verdict": verdict}
        for origin, age, verdict in [
            ("good", 23 * HOUR, "rules"),
            ("old", 25 * HOUR, "rules"),
            ("away", HOUR, "unreachable"),
        ]
    ]
    assert known(tmp_path, "robots", "robots", rows)["a.test"]["origin"] == "good"
    assert known(tmp_path, "robots", "robots", rows[1:]) == {}


@pytest.mark.parametrize(("rounds", "not_before"), [((), NOW + HOUR), ((1,), None)])
def test_a_refused_address_counts_while_the_settings_are_the_same(
    tmp_path: Path, rounds: tuple[int, ...], not_before: datetime | None
) -> None:
    row = {"host": "a.test", "round": 1, "held_by": "refused", "not_before": NOW + HOUR}
    read = known(tmp_path, "hosts", "hosts", [row, row | {"host": "other.test"}], other_rounds=rounds)
    assert {host: row["not_before"] for host, row in read.items()} == {"a.test": not_before}


def test_a_delay_of_a_clock_that_was_ahead_begins_now(tmp_path: Path) -> None:
    row = {"host": "a.test", "round": 1, "held_by": "delay"}
    row |= {"last_fetched_at": NOW + HOUR, "not_before": NOW + HOUR + SECOND}
    assert known(tmp_path, "hosts", "hosts", [row])["a.test"]["not_before"] == NOW + SECOND
    seen = known(tmp_path, "hosts", "hosts", [row], seen_since=NOW - HOUR)["a.test"]
    assert (seen["last_fetched_at"], seen["not_before"]) == (NOW - HOUR, NOW - HOUR + SECOND)


def test_of_all_hosts_those_whose_shared_queue_is_not_due(tmp_path: Path) -> None:
    ages = {"a.test": 9 * SECOND, "b.test": 11 * SECOND, "elsewhere.test": SECOND}
    rows = [{"host": host, "round": 1, "last_fetched_at": NOW - age} for host, age in ages.items()]
    assert known(tmp_path, "resting", "hosts", [*rows, {"host": "new.test"}]).keys() == {"a.test", "elsewhere.test"}
