"""`beamtrawl.crawl`: the same crawl as the command line's, by keywords, with a report and errors in one line."""

import inspect
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import beamtrawl
from beamtrawl.runners.crawling.session import SETTINGS
from beamtrawl.transforms.settings import Settings
from tests.support.command_line import beamtrawl as command, contents
from tests.support.web import Web, html

NOWHERE = "http://127.0.0.1:9/"


def test_the_report_of_a_crawl_to_its_end(finished: beamtrawl.Report) -> None:
    assert (finished.reason, finished.rounds, finished.waiting, finished.due_at) == ("frontier_empty", 2, 0, None)
    assert (finished.visits, finished.documents) == (5, 3)
    assert finished.outcomes == {"fetched": 3, "redirected": 1, "gone": 1}
    assert str(finished) == "the frontier is empty"
    assert finished.elapsed_s > 0


def test_the_settings_of_the_first_call_are_kept_and_those_of_later_ones_are_not(planned: Path) -> None:
    assert beamtrawl.open(planned).settings.fetch.allow_addresses == ["127.0.0.0/8"]
    before = contents(planned)
    report = beamtrawl.crawl(planned, rounds=0, delay=7, settings={"traps.detect": False})
    assert (report.reason, report.rounds, report.waiting) == ("rounds", 0, 1)
    assert contents(planned) == before


def test_a_setting_has_a_keyword_or_its_key(tmp_path: Path) -> None:
    named: dict[str, Any] = {"delay": 0.5, "depth": 2, "scope": "domain", "robot": "Trawler", "max_pages": 10}
    named |= {"contact": "me@robot.invalid", "info_url": "https://robot.invalid/", "round_time": 9.5}
    named |= {"max_pages_per_host": 7, "max_pages_per_host_per_round": 6, "include": ["/a"], "exclude": ["/tmp/"]}
    named |= {"check_external": True, "recrawl_after": 7.0, "allow_address": ["127.0.0.0/8", "10.0.0.0/8"]}
    assert named.keys() == SETTINGS.keys()
    settings = {"traps.detect": False}
    beamtrawl.crawl(tmp_path / "new", NOWHERE, rounds=0, settings=settings, **named)
    found = beamtrawl.open(tmp_path / "new").settings
    for key, value in ({SETTINGS[name]: value for name, value in named.items()} | settings).items():
        part, _, name = key.partition(".")
        assert getattr(getattr(found, part), name) == value
    assert named.keys() <= inspect.signature(beamtrawl.crawl).parameters.keys()
    assert isinstance(found, Settings)


def test_the_command_line_goes_on_with_a_crawl_of_python_and_back(planned: Path) -> None:
    assert command("crawl", planned, "--rounds", 0, "--seed", NOWHERE + "a").err.endswith("2 URLs in the frontier\n")
    assert beamtrawl.crawl(planned, NOWHERE + "b", rounds=0).waiting == 3
    status = beamtrawl.open(planned).status()
    found, printed = status.to_dict(), json.loads(command("status", planned, "--json").out)
    assert found.pop("disk_free") > 0 < printed.pop("disk_free")  # others write to the disk meanwhile
    assert found == printed
    assert (status.rounds, status.frontier, status.next_step.step) == (0, {"seed": 3}, "fetch")


def test_seeds_are_urls_or_a_file_or_sitemaps(tmp_path: Path) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text("# the harbour\nhttp://127.0.0.1:9/a\ta note\n")
    seeds = (f"http://127.0.0.1:9/{name}" for name in "bc")
    sitemaps = "http://127.0.0.1:9/sitemap.xml"
    beamtrawl.crawl(tmp_path / "new", file, sitemaps=sitemaps, rounds=0, allow_address="127.0.0.0/8")
    beamtrawl.crawl(tmp_path / "new", seeds, rounds=0)
    found = beamtrawl.open(tmp_path / "new").sql("SELECT url[-1:], metadata, kind FROM seeds ORDER BY 1")
    assert found.fetchall() == [("a", "a note", None), ("b", None, None), ("c", None, None), ("l", None, "sitemap")]


# the arguments, the error, what its one line says
REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no seed": ({}, beamtrawl.StartError, "needs a URL to start from: seeds=[URL, …], sitemaps=[URL, …] or seeds="),
    "a missing file": ({"seeds": Path("no/file")}, beamtrawl.StartError, "cannot read the seeds in no/file: No such"),
    "no robot": (
        {"seeds": "http://harbour.invalid/", "robot": "Trawler"},
        beamtrawl.StartError,
        "http://harbour.invalid/ is not on this machine, and requests to it must identify the robot: add contact=MAIL",
    ),
    "a delay below zero": ({"delay": -1}, beamtrawl.SettingsError, "politeness.delay = -1: must be a number of at"),
    "half a page": ({"max_pages": 0.5}, beamtrawl.SettingsError, "limits.max_pages = 0.5: must be a whole number"),
    "an unknown scope": ({"scope": "planet"}, beamtrawl.SettingsError, 'scope.mode = "planet": must be one of'),
    "no range": ({"allow_address": "here"}, beamtrawl.SettingsError, "give an address or a range such as 127.0.0.0/8"),
    "an unknown setting": (
        {"settings": {"politeness.dealy": 1}},
        beamtrawl.SettingsError,
        "politeness.dealy: unknown setting; did you mean delay?",
    ),
    "a setting without its table": (
        {"settings": {"delay": 1}},
        beamtrawl.SettingsError,
        "delay: unknown setting; did you mean politeness.delay?",
    ),
    "an unknown table": ({"settings": {"fish.cod": 1}}, beamtrawl.SettingsError, "the tables are robot, scope, limits"),
    "an unknown plug-in": (
        {"seeds": NOWHERE, "settings": {"documents.observers": ["spy"]}},
        beamtrawl.PluginError,
        'no "spy" is installed among beamtrawl.observers',
    ),
    "rounds below zero": ({"rounds": -1}, ValueError, "rounds = -1: must be a whole number of at least 0"),
    "no workers": ({"workers": 0}, ValueError, "workers = 0: must be a whole number of at least 1"),
    "an unknown runner": ({"runner": "storm"}, ValueError, "runner = 'storm': must be one of direct, flink"),
    "an unknown keyword": ({"dealy": 1}, TypeError, "unexpected keyword argument 'dealy'"),
    "an unknown option of Beam": (
        {"seeds": NOWHERE, "allow_address": "127.0.0.0/8", "beam_options": ["--no-such-option=1"]},
        beamtrawl.StartError,
        "--no-such-option=1",
    ),
}


@pytest.mark.parametrize(("given", "error", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_understood_is_named_and_changes_nothing(
    tmp_path: Path, given: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error) as caught:
        beamtrawl.crawl(tmp_path / "new", **given)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "new").exists()


def test_a_seed_that_is_skipped_is_a_warning(tmp_path: Path) -> None:
    with pytest.warns(beamtrawl.BeamtrawlWarning) as warned:
        beamtrawl.crawl(tmp_path / "new", ["fish", NOWHERE], rounds=0, allow_address="127.0.0.0/8")
    assert [str(w.message) for w in warned] == [
        "seeds 'fish' is skipped: not an absolute URL; it must start with http:// or https://"
    ]
    assert warned[0].filename == __file__


def test_seeds_that_are_all_skipped_are_an_error(tmp_path: Path) -> None:
    with (
        pytest.warns(beamtrawl.BeamtrawlWarning, match="^seeds '(ftp://a.test/|fish)' is skipped: "),
        pytest.raises(beamtrawl.StartError, match="none of the seeds is a URL that can be crawled"),
    ):
        beamtrawl.crawl(tmp_path / "new", ["ftp://a.test/", "fish"])


def test_an_address_that_is_refused_is_a_warning(tmp_path: Path) -> None:
    with pytest.warns(beamtrawl.BeamtrawlWarning, match='to allow it: allow_address="127.0.0.0/8"'):
        beamtrawl.crawl(tmp_path / "new", NOWHERE, rounds=0)


def test_a_second_writer_is_refused(planned: Path) -> None:
    owner = {"pid": os.getpid(), "host": socket.gethostname(), "beat": time.time()}
    (planned / "lock.json").write_text(json.dumps(owner))
    with pytest.raises(beamtrawl.LockedError, match=f"is in use by process {os.getpid()} on "):
        beamtrawl.crawl(planned, rounds=0)


def test_progress_is_reported_in_the_thread_of_the_caller(tmp_path: Path) -> None:
    said: list[beamtrawl.Progress] = []
    with Web({"a.test": {"/": html("Home")}}) as web:
        seed, loopback = web.url("a.test"), "127.0.0.0/8"
        beamtrawl.crawl(tmp_path / "new", seed, allow_address=loopback, delay=0, workers=1, progress=said.append)
    assert list(dict.fromkeys((p.step, p.round, p.is_committed) for p in said)) == [
        ("seeds", 0, True),
        ("fetch", 1, False),  # on a busy machine, more than once
        ("fetch", 1, True),
        ("update", 1, False),
        ("update", 1, True),
    ]
    assert [str(p) for p in said[:2]] == ["1 seed added", "round 1 fetch starts: 1 URL in the frontier"]
    assert (said[1].done, said[1].total) == (0, 1)
    (fetched,) = (p for p in said if p.step == "fetch" and p.is_committed)
    assert (fetched.done, fetched.total, fetched.outcomes) == (1, 1, {"fetched": 1})
    assert str(fetched).startswith("round 1 fetch: 1 request in ")


class Enough(Exception):
    """Raised by the callback of a test."""


def test_an_exception_of_progress_stops_the_crawl_and_what_was_fetched_is_kept(tmp_path: Path) -> None:
    def enough(progress: beamtrawl.Progress) -> None:
        if progress.step == "fetch" and progress.is_committed:
            raise Enough

    chain = {"/": html("Home", "", ["/1"])} | {f"/{n}": html(f"{n}", "", [f"/{n + 1}"]) for n in range(1, 30)}
    with Web({"a.test": chain}) as web:  # one page a round
        seed, loopback = web.url("a.test"), "127.0.0.0/8"
        with pytest.raises(Enough):
            beamtrawl.crawl(tmp_path / "new", seed, allow_address=loopback, delay=0.2, workers=1, progress=enough)
        assert not (tmp_path / "new" / "lock.json").exists()
        outcomes = beamtrawl.open(tmp_path / "new").visits.to_arrow()["outcome"].to_pylist()
        fetched = outcomes.count("fetched")
        assert outcomes[fetched:] in ([], ["deferred"])  # whose turn had not come
        assert len(web.requests) == 1 + fetched < 20
        assert beamtrawl.crawl(tmp_path / "new", rounds=1, workers=1).visits == 1
        paths = [request.path for request in web.requests]
        assert paths == ["/robots.txt", "/", *(f"/{n}" for n in range(1, fetched + 1))]


@pytest.mark.slow("whole crawls")
def test_ctrl_c_ends_it_politely(tmp_path: Path) -> None:
    program = (
        "import sys, beamtrawl\n"
        "beamtrawl.crawl(sys.argv[1], sys.argv[2], allow_address='127.0.0.0/8', delay=0.3, workers=1, progress=print)"
    )
    pages = {"/": html("Home", "", [f"/{n}" for n in range(100)])} | {f"/{n}": html(f"{n}") for n in range(100)}
    with Web({"a.test": pages}) as web:
        words = [sys.executable, "-uc", program, str(tmp_path / "new"), web.url("a.test")]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            assert running.stdout
            assert any(re.match("round 2 fetch: [1-9]", line) for line in running.stdout)  # of 100 URLs
            running.send_signal(signal.SIGINT)
            _, err = running.communicate(timeout=60)
    assert err.rstrip().endswith("KeyboardInterrupt")
    crawl = beamtrawl.open(tmp_path / "new")
    assert crawl.status().rounds == 2
    assert {"fetched", "deferred"} <= crawl.status().outcomes.keys()
    assert not (tmp_path / "new" / "lock.json").exists()
