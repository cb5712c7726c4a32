"""The events of a crawl, and docs/progress.md."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest

from beamtrawl.pipeline.control import End
from beamtrawl.pipeline.seeds import Added
from beamtrawl.runners.progress import events
from beamtrawl.runners.progress.running import Reported, Running, Stage
from beamtrawl.transforms.directory.crawl_dir import Manifest, Step
from beamtrawl.transforms.politeness.workers.reports import Queue
from tests.support.command_line import LOOPBACK, beamtrawl
from tests.support.web import Web, html

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
EVERY = ["event", "at", "level", "message"]
QUEUED = Reported(
    2, {"fetched": 20}, 999, 4, 2, 1, 20, 3.0, rate=1.5, queues=(Queue("a.test", 7, "delay", 1.0, 6.0, True),)
)
FETCH = Running(Step("fetch", 3), 100, 1000.0, 40).at(1010.0, QUEUED)
UPDATE = Running(Step("update", 3), 25, 1000.0).at(1004.0, Reported(2, stage=Stage(1, 10, "parsing pages", 12)))
RANKED = Manifest("rank", 3, "", (), {"links": 7, "pages": 3, "hosts": 1}, (), NOW.isoformat(), NOW.isoformat())

# an event, its fields besides the common ones
FIELDS = {
    "seeds_added": (events.seeds_added(Added(3, 1, 2)), {"new": 3, "again": 1, "known": 2}),
    "step_started": (events.step_started(FETCH), {"step": "fetch", "round": 3, "rows": 100, "at_most": 40}),
    "fetch_progress": (
        events.progress(FETCH),
        {
            **{"round": 3, "seconds": 10.0, "workers": 2, "visits": 20, "rows": 100, "at_most": 40, "bytes": 999},
            **{"rate": 1.5, "mean_rate": 2.0, "hosts_active": 4, "hosts_waiting": 2, "hosts_backing_off": 1},
            **{"queued": 20, "seconds_left": 10.0, "outcomes": {"fetched": 20}},
            "queues": [
                {"name": "a.test", "urls": 7, "why": "delay", "delay_s": 1.0, "seconds": 6.0, "holds": True},
            ],
        },
    ),
    "update_progress": (
        events.progress(UPDATE),
        {
            **{"round": 3, "seconds": 4.0, "visits": 25, "parsed": 12},
            **{"stage": 1, "stages": 10, "doing": "parsing pages"},
        },
    ),
    "step_committed": (
        events.step_committed(RANKED),
        {"step": "rank", "round": 3, "seconds": 0.0, "counters": {"links": 7, "pages": 3, "hosts": 1}},
    ),
    "waiting": (events.waiting(NOW, 5), {"until": "2026-03-01T12:00:00+00:00", "urls": 5}),
    "ended": (
        events.ended(End("not_due", 2, NOW), 5),
        {"reason": "not_due", "rounds": 2, "frontier": 5, "due_at": "2026-03-01T12:00:00+00:00"},
    ),
}


@pytest.mark.parametrize(("name", "event", "fields"), [(name, *case) for name, case in FIELDS.items()], ids=FIELDS)
def test_an_event(name: str, event: events.Event, fields: dict[str, object]) -> None:
    found = event.to_dict(NOW)
    assert list(found) == [*EVERY, *fields]
    assert {field: found[field] for field in fields} == fields
    assert found["event"] == name
    assert found["at"] == "2026-03-01T12:00:00.000+00:00"


def test_every_event_and_field_is_documented() -> None:
    page = Path(__file__).parents[2].joinpath("docs", "progress.md").read_text(encoding="utf-8")
    documented: dict[str, list[str]] = {}
    for name, field in re.findall(
        r"^\| (?:`(\w+)`)? *\| [^|]*\| (?:`(\w+)`)? *\|", page.split("\n## Events", 1)[1], re.M
    ):
        fields = documented.setdefault(name or next(reversed(documented)), [])
        fields += [field] if field else []
    assert documented == {name: list(FIELDS[name][1]) if name in FIELDS else [] for name in get_args(events.Name)}


def test_crawl_prints_events_and_appends_them_to_a_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text('{"event": "of an earlier run"}\n')
    with Web({"a.test": {"/": html("Home", links=["/b"]), "/b": html("B")}}) as web:
        words = ["crawl", tmp_path / "c", "--seed", web.url("a.test"), "--rounds", 2, "--json", "--log", log, *LOOPBACK]
        code, out, err = beamtrawl(*words)
    assert (code, err) == (0, "")
    found = [json.loads(line) for line in out.splitlines()]
    names = [event["event"] for event in found if not event["event"].endswith("progress")]
    round_ = ["busy", "step_started", "step_committed", "step_started", "step_committed", "busy"]
    assert names == ["seeds_added", *round_, *round_, "busy", "step_committed", "ended"]
    assert [event["message"] for event in found if event["event"] == "ended"] == [
        "2 rounds done, 0 URLs in the frontier"
    ]
    logged = [json.loads(line)["event"] for line in log.read_text().splitlines()]
    assert logged == ["of an earlier run", *names]


def test_a_step_that_fails_is_an_event_and_one_line(tmp_path: Path) -> None:
    with Web({"a.test": {"/": html("Home")}}) as web:
        words = ["crawl", tmp_path / "c", "--seed", web.url("a.test"), "--rounds", 1, *LOOPBACK]
        assert beamtrawl(*words).code == 0
        for file in tmp_path.glob("c/urls/*/*.parquet"):
            file.write_bytes(b"cut")
        code, out, err = beamtrawl(*words, "--json")
    assert code == 1
    last = json.loads(out.splitlines()[-1])
    assert (last["event"], last["level"]) == ("failed", "ERROR")
    assert err.startswith("beamtrawl: ")
    assert last["message"] in err


def test_a_log_that_cannot_be_written_ends_the_command_before_it_starts(tmp_path: Path) -> None:
    log = tmp_path / "missing" / "log"
    code, out, err = beamtrawl("crawl", tmp_path / "c", "--seed", "http://127.0.0.1:9/", "--log", log, *LOOPBACK)
    assert (code, out, err) == (2, "", f"beamtrawl: --log {log}: No such file or directory\n")
    assert not (tmp_path / "c").exists()
