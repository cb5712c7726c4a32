"""`beamtrawl release`: the command that status and the end of a crawl name, and what is released stays released."""

import shlex
from pathlib import Path

import pytest

from tests.support.command_line import LOOPBACK, beamtrawl, failure
from tests.support.crawls import frontier, rows, states
from tests.support.trap_sites import Site
from tests.support.web import Page, Web, html
from tests.traps.test_crawls import MIRROR

pytestmark = pytest.mark.slow("traps")


def held(path: Path) -> set[str]:
    waiting = {row["url"] for row in frontier(path)}
    return {url for url, row in states(path).items() if row["state"] == "trapped"} - waiting


def test_the_command_that_the_end_of_a_crawl_names_releases_what_is_held_for_good(tmp_path: Path) -> None:
    path = tmp_path / "a crawl"
    with Web({"mirror.test": MIRROR}) as web:
        ended = beamtrawl("crawl", path, "--seed", web.url("mirror.test"), *LOOPBACK, "--rounds", "14")
        trapped = held(path)
        assert len(trapped) > 10
        line = next(line for line in beamtrawl("status", path).out.splitlines() if line.startswith("alarm: "))
        command = line.partition("to release them: beamtrawl ")[2]
        assert ended.err.splitlines()[-1].endswith(
            f"{len(trapped)} URLs are held as traps; to release them: beamtrawl {command}"
        )

        ran = beamtrawl(*shlex.split(command))
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.startswith(f"{len(trapped)} URLs released")
        assert held(path) == set()
        assert trapped <= {row["url"] for row in frontier(path)}
        again = beamtrawl(*shlex.split(command))
        assert (again.code, again.out.split()[0]) == (0, "0")

        assert beamtrawl("crawl", path, *LOOPBACK, "--rounds", "2").code == 0
        assert trapped <= {row["url"] for row in rows(path, "visits")}
        assert held(path) == set()
        assert "trap" not in beamtrawl("status", path, "--check").out
        assert beamtrawl(*shlex.split(command)).code == 0


def test_a_pattern_that_matches_nothing_is_refused_and_not_kept(tmp_path: Path) -> None:
    site = {"/": html("Home", "Some words.")}
    with Web({"a.test": site}) as web:
        beamtrawl("crawl", tmp_path, "--seed", web.url("a.test"), *LOOPBACK)
    for pattern, said in (
        ("b.test/calendar/*", f"no URL that is held or waits matches b.test/calendar/*; beamtrawl status {tmp_path}"),
        ("http://b.test/*", 'must be "HOST/PATTERN", without http://'),
    ):
        code, line = failure("release", tmp_path, pattern)
        assert (code, said in line) == (2, True), line
    assert not (tmp_path / "released.txt").exists()


def test_a_running_crawl_reads_the_patterns_at_its_next_step(tmp_path: Path) -> None:
    """Another site, of one page a round, calls the command while both are crawled."""
    said: list[str] = []

    def chain(path: str) -> Page | None:
        if not path[1:].isdecimal() and path != "/":
            return None
        number = int(path[1:] or 0)
        if number == 10:
            said.extend(sorted(held(tmp_path)))
            beamtrawl("release", tmp_path, f"{web.authority('mirror.test')}/page*")
        return html(f"Page {number}", f"Number {number}.", [f"/{number + 1}"]) if number < 14 else None

    with Web({"mirror.test": MIRROR, "chain.test": Site(chain, lambda path: path, 0)}) as web:
        seeds = [word for name in ("mirror.test", "chain.test") for word in ("--seed", web.url(name))]
        assert beamtrawl("crawl", tmp_path, *seeds, *LOOPBACK, "--rounds", "13").code == 0
    assert len(said) > 10
    assert set(said) <= {row["url"] for row in rows(tmp_path, "visits")}
    assert held(tmp_path) == set()
