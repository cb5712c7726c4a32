"""The page of a running crawl in a real Chromium: it renews itself, and nothing of the crawl has an effect."""

import shutil
import threading
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from beamtrawl.runners.commands.serving.watch import create_app
from beamtrawl.runners.report.live import LivePage
from beamtrawl.search.gateway.server import ServerLimits, create_server
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from tests.report.hostile import EVIL, hostile_crawl
from tests.report.test_live import REPORT, begun, hold
from tests.support.browser import Window, axe
from tests.support.prerequisites import lacks

if not shutil.which("chromium"):
    lacks("there is no chromium", whole_module=True)

pytestmark = pytest.mark.slow("browser")

AXE = files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
VIEWS = {
    "wide": (1200, 900, "light"),
    "wide and dark": (1200, 900, "dark"),
    "phone": (400, 844, "light", True),
    "phone and dark": (400, 844, "dark", True),
}
QUIET = "document.getElementById('renewal').textContent"


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    crawl = begun(str(tmp_path))
    hold(crawl, **REPORT)
    return crawl


@pytest.fixture
def window(crawl: CrawlDir) -> Iterator[Window]:
    """A window on the page of the crawl."""
    server = create_server(create_app(LivePage(crawl), []), "127.0.0.1", 0, ServerLimits())
    threading.Thread(target=server.run, daemon=True).start()
    with Window(f"127.0.0.1:{server.effective_port}") as window:
        yield window
    server.close()


def until(condition: str) -> str:
    """An expression that is true once the condition is, which is looked at after each change of the page."""
    return f"""new Promise(done => {{
        const look = () => {{ if ({condition}) {{ observer.disconnect(); done(true); }} }};
        const observer = new MutationObserver(look);
        observer.observe(document, {{subtree: true, childList: true, characterData: true}});
        look();
    }})"""


@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_and_the_page_fits(window: Window, view: str) -> None:
    window.view(*VIEWS[view])
    window.open("/")
    assert axe(window, AXE) == []
    assert window.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_page_renews_itself_and_keeps_what_a_reader_has_done(window: Window, crawl: CrawlDir) -> None:
    window.open("/")
    window.evaluate("document.querySelector('details').open = true; document.querySelector('.scroll').focus()")
    label = "document.activeElement.getAttribute('aria-label')"
    focused = window.evaluate(label)
    hold(crawl, **REPORT | {"outcomes": {"fetched": 4321}, "failures": []})
    assert window.evaluate(until("document.querySelector('dd').textContent === '4,321'"))
    assert window.evaluate("document.querySelector('details').open")
    assert focused == window.evaluate(label)
    hold(crawl, **REPORT | {"outcomes": {"fetched": 5432}})  # with a table more than before
    assert window.evaluate(until("document.querySelector('dd').textContent === '5,432'"))
    assert window.evaluate("document.body.textContent.includes('http://c.test/x')")


def test_a_reader_can_pause_the_page_by_keyboard(window: Window, crawl: CrawlDir) -> None:
    window.open("/")
    window.press("Tab")
    assert window.evaluate("document.activeElement.textContent") == "Pause"
    window.evaluate("document.activeElement.click()")
    assert window.evaluate(QUIET) == "Paused. Go on"
    count = len(window.requests)
    hold(crawl, **REPORT | {"outcomes": {"fetched": 4321}})
    window.evaluate("new Promise(done => setTimeout(done, 5500))")
    assert len(window.requests) == count
    window.evaluate("document.activeElement.click()")
    assert window.evaluate(until("document.querySelector('dd').textContent === '4,321'"))


def test_a_page_without_an_answer_says_so(window: Window, crawl: CrawlDir) -> None:
    window.open("/")
    shutil.rmtree(crawl.root)
    assert window.evaluate(until(f"{QUIET}.startsWith('The page gets no answer')"))


def test_a_hostile_crawl_does_nothing(window: Window, crawl: CrawlDir) -> None:
    hostile_crawl(Path(crawl.root))
    failed = {"at": 1.0, "url": EVIL, "outcome": EVIL, "error": EVIL}
    hold(crawl, "update", **REPORT | {"failures": [failed], "outcomes": {EVIL: 3}})
    hold(crawl, **REPORT | {"failures": [failed], "outcomes": {EVIL: 3}})
    window.open("/")
    window.evaluate("new Promise(done => setTimeout(done, 5500))")  # also after it has renewed itself
    assert window.evaluate("typeof pwned") == "undefined"
    assert window.evaluate("document.querySelectorAll('img, iframe, base, form, main script').length") == 0
    assert {request.split("/")[2] for request in window.requests} == {window.evaluate("location.host")}
    assert window.dialogs == []
