"""The report and the page about the robot in a real Chromium: light, dark, on a phone, printed, of a hostile crawl."""

import functools
import http.server
import shutil
import threading
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from beamtrawl.runners.commands.blocking.policy import facts, render_policy
from beamtrawl.transforms.settings import Robot, Settings
from tests.report.hostile import hostile_crawl
from tests.report.pages import report_of
from tests.support.browser import Window, axe
from tests.support.crawls import crawl
from tests.support.prerequisites import lacks
from tests.support.web import Web, html

if not shutil.which("chromium"):
    lacks("there is no chromium", whole_module=True)

pytestmark = pytest.mark.slow("browser")

AXE = files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
WINDOWS = {"desktop": (1280, 900, "light"), "dark": (1280, 900, "dark"), "phone": (390, 844, "light", True)}


@pytest.fixture(scope="module")
def window(tmp_path_factory) -> Iterator[Window]:
    """A window on the reports /small.html and /hostile.html, and on the page about the robot, /policy.html."""
    folder = tmp_path_factory.mktemp("reports")
    pages = {
        f"/{n}": html(f"Page {n}", f"words of page {n} " * 9, [f"/{2 * n + 1}", f"/{2 * n + 2}"]) for n in range(14)
    }
    with Web({"a.test": {"/": html("Home", links=["/0"]), **pages}}) as web:
        crawl(folder / "small", [web.url("a.test")])
    hostile_crawl(folder / "hostile")
    for name in ("small", "hostile"):
        (folder / f"{name}.html").write_text(report_of(folder / name), encoding="utf-8")
    robot = Robot("HarbourBot", "bot@example.org", "https://www.example.org/about/our/robot.html")
    (folder / "policy.html").write_text(render_policy(facts(Settings(robot=robot), ["192.0.2.0/24"])), encoding="utf-8")
    with _Server(folder) as authority, Window(authority) as window:
        yield window


class _Server(http.server.ThreadingHTTPServer):
    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))

    def __enter__(self) -> str:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return f"127.0.0.1:{self.server_port}"

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("view", WINDOWS)
@pytest.mark.parametrize("name", ["small", "hostile", "policy"])
def test_axe_finds_nothing_and_the_page_fits(window: Window, view: str, name: str) -> None:
    window.view(*WINDOWS[view])
    window.open(f"/{name}.html")
    assert axe(window, AXE) == []
    assert window.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_report_requests_nothing_and_a_hostile_crawl_does_nothing(window: Window) -> None:
    before = len(window.requests)
    window.open("/hostile.html")
    assert [request.rpartition("/")[2] for request in window.requests[before:]] == ["hostile.html"]
    assert window.evaluate("[typeof pwned, document.title.slice(0, 12)]") == ["undefined", "Crawl report"]
    assert window.evaluate("document.querySelectorAll('img, iframe, base, form, main script').length") == 0
    assert window.dialogs == []


def test_a_click_on_a_heading_sorts(window: Window) -> None:
    window.open("/small.html")
    rows = "[...t.tBodies[0].rows].map(row => row.cells[2].textContent)"
    table = "const t = [...document.querySelectorAll('table')].find(t => t.caption.textContent == 'Round by round');"
    click = "t.tHead.rows[0].cells[2].firstElementChild.click();"
    assert window.evaluate(f"{table} {rows}") == ["1", "1", "2", "4", "8", "14"]
    assert window.evaluate(f"{{ {table} {click} {rows} }}") == ["14", "8", "4", "2", "1", "1"]
    assert window.evaluate(f"{{ {table} {click} {rows} }}") == ["1", "1", "2", "4", "8", "14"]
    assert window.evaluate(f"{{ {table} t.tHead.rows[0].cells[2].ariaSort }}") == "ascending"


def test_what_is_printed_is_light_and_complete(window: Window) -> None:
    window.view(1280, 900, "dark")
    window.open("/small.html")
    window.call("Emulation.setEmulatedMedia", media="print")
    assert window.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert window.evaluate("document.querySelector('figure table').checkVisibility()")
    window.call("Emulation.setEmulatedMedia", media="")
    assert not window.evaluate("document.querySelector('figure table').checkVisibility({contentVisibilityAuto: true})")
