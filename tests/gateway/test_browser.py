"""The gateway's pages as people have them: in a real Chromium, from `beamtrawl serve`."""

import shutil
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.gateway.test_changes import commit_versions
from tests.gateway.test_submissions import planned
from tests.support.browser import Window, axe
from tests.support.corpus import commit
from tests.support.gateways import serving
from tests.support.prerequisites import lacks

if not shutil.which("chromium"):
    lacks("there is no chromium", whole_module=True)

pytestmark = pytest.mark.slow("browser")

AXE = files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
BAD = "pwned=1;new Image().src='http://evil.test/i';fetch('http://evil.test/f');alert(1)"
EVIL = (
    f'"\'><script>{BAD}</script><img src=http://evil.test/i onerror="{BAD}"><svg onload="{BAD}">'
    f"<link rel=stylesheet href=http://evil.test/s><style>@import 'http://evil.test/c'</style>"
    f'<iframe src="javascript:parent.{BAD}"></iframe><base href=http://evil.test/>'
    "<form action=http://evil.test/><button autofocus>"
)
REFRESH = "<meta http-equiv=refresh content='0;url=http://evil.test/'>"  # the one thing that no policy stops
EVIL_URL = f"http://a.test/evil?a=%22%3E{quote(EVIL)}"
ROWS = [
    {"url": f"http://a.test/{number}", "title": f"Page {number}", "text": "common words", "language": language}
    for number, language in enumerate(["en", "ko", "de"] * 8)
]
HOSTILE = [
    {"url": EVIL_URL, "title": EVIL + REFRESH, "text": f"hostile {EVIL}", "language": EVIL, "anchors": [EVIL]},
    {
        "url": f"javascript:{BAD}//hostile",
        "title": "hostile link",
        "text": f"hostile\n{EVIL}{REFRESH}",
        "media_type": EVIL,
    },
    {"url": f"http://b.test/{EVIL}", "text": f"hostile {EVIL}", "description": EVIL},
]
CHANGED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    f"http://a.test/{number}": ({"text": f"The old sentence of page {number}."}, {"text": "The new sentence. " * 9})
    for number in range(120)
} | {EVIL_URL: ({"text": EVIL}, {"text": f"more {EVIL}", "title": EVIL})}
SCRIPT = "/static/suggest.js"
LIST = "document.getElementById('suggestions')"
OPTIONS = f"[...{LIST}.children].map(option => option.textContent)"
ACTIVE = "document.getElementById(document.getElementById('q').getAttribute('aria-activedescendant'))?.textContent"
PAGES = {
    "home": "/",
    "results": "/?q=common",
    "a later page": "/?q=common&page=2",
    "help with spelling": "/?q=comon",
    "nothing found": "/?q=nowhere",
    "an error": "/?q=a&page=x",
    "a Korean query": f"/?q={quote('검색 엔진')}",
    "a cached text": "/cached?url=http://a.test/1&q=words",
    "no cached text": "/cached?url=http://nowhere.test/",
    "submissions": "/submit",
    "changes": "/changes?since=2",
    "no changes": "/changes?since=3",
    "changes of another time": "/changes?since=soon",
    "hostile results": "/?q=hostile",
    "a hostile text": f"/cached?url={quote(EVIL_URL)}&q={quote(EVIL)}",
}


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> Iterator[str]:
    """Where `beamtrawl serve` answers."""
    crawl = planned(tmp_path_factory.mktemp("crawl"))
    commit(crawl, 1, ROWS, HOSTILE)
    commit_versions(Path(crawl.root), 2, CHANGED)
    with serving(crawl.root, "--submissions", "--rate", "0") as authority:
        yield authority


@pytest.fixture
def window(authority) -> Iterator[Window]:
    with Window(authority) as window:
        yield window


def test_nothing_that_was_crawled_or_asked_does_anything(window, authority):
    for path in ("/?q=hostile", PAGES["a hostile text"], f"/?q={quote(EVIL)}", f"/?q=hostile&page={quote(EVIL)}"):
        window.open(path)
        assert window.evaluate("typeof pwned") == "undefined"
        assert window.evaluate("location.host") == authority
        assert window.evaluate("document.querySelectorAll('img, svg, iframe, base, style, main form').length") == 0
        assert window.evaluate("[...document.scripts].map(script => script.getAttribute('src'))") == [SCRIPT]
        assert window.evaluate("[...document.links].filter(a => !/^https?:$/.test(a.protocol)).length") == 0
    window.open("/?q=hostile")
    assert window.evaluate("document.querySelectorAll('.hits > li').length") == len(HOSTILE)
    assert {url.split("/")[2] for url in window.requests} == {authority}
    assert window.dialogs == []


def test_the_policy_would_stop_what_slips_through(window, authority):
    """Markup that was not escaped: here it is put in by hand."""
    window.open("/?q=hostile")
    window.evaluate(f"document.querySelector('main').innerHTML = `{EVIL}`")
    window.evaluate("new Promise(done => setTimeout(done, 300))")
    assert window.evaluate("typeof pwned") == "undefined"
    assert {url.split("/")[2] for url in window.requests} == {authority}
    assert window.dialogs == []


def test_a_keyboard_is_enough(window):
    window.open("/")
    wait_for(window, "document.activeElement.id == 'q'")  # a browser moves the focus some time after the page is loaded
    window.write("common")
    window.press("Enter")
    assert window.evaluate("location.search") == "?q=common"
    assert window.evaluate("document.querySelectorAll('.hits > li').length") == 10
    stops = []
    for _ in range(6):
        window.press("Tab")
        stops.append(window.evaluate("document.activeElement.textContent.trim() || document.activeElement.id"))
        assert window.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    assert stops == ["Skip to the content", "Beamtrawl", "q", "Search", "newest first", "Narrow by language"]
    window.open("/?q=common")
    window.press("Tab")
    assert window.evaluate("document.activeElement.getBoundingClientRect().top") >= 0
    window.evaluate("document.querySelector('[rel=next]').focus()")
    window.press("Enter")
    assert window.evaluate("location.search") == "?q=common&page=2"


def test_suggestions_by_keyboard(window):
    window.open("/")
    type_and_wait(window, "comm")
    assert window.evaluate(OPTIONS) == ["Page 0", "Page 1", "Page 10", "common"]
    chosen = []
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp", "ArrowUp"):
        window.press(key)
        chosen.append(window.evaluate(ACTIVE))
    assert chosen == ["Page 0", "Page 1", "Page 0", None, "common"]
    assert window.evaluate("document.querySelectorAll('[aria-selected=true]').length") == 1
    assert window.evaluate("document.getElementById('q').value") == "comm"
    window.press("Escape")  # closes the list, and leaves what is typed
    assert window.evaluate(f"[{LIST}.hidden, document.getElementById('q').value]") == [True, "comm"]
    window.press("ArrowDown")
    wait_for(window, f"!{LIST}.hidden")
    window.press("ArrowUp")
    window.press("Enter")
    assert window.evaluate("location.search") == "?q=common"


def test_enter_without_a_chosen_suggestion_searches_for_what_is_typed(window):
    window.open("/")
    type_and_wait(window, "comm")
    window.press("Enter")
    assert window.evaluate("location.search") == "?q=comm"


def test_a_click_on_a_suggestion_searches_for_it_and_tab_closes_the_list(window):
    window.open("/")
    type_and_wait(window, "comm")
    window.press("Tab")
    assert window.evaluate(f"{LIST}.hidden")
    window.evaluate("document.getElementById('q').focus()")
    window.press("ArrowDown")
    wait_for(window, f"!{LIST}.hidden")
    window.follow(f"{LIST}.children[3].click()")
    assert window.evaluate("location.search") == "?q=common"


def test_keys_in_a_row_are_one_request_and_one_that_is_overtaken_is_aborted(window):
    window.open("/")
    window.evaluate("signals = []; window.fetch = (_, options) => new Promise(() => signals.push(options.signal))")
    window.evaluate("document.getElementById('q').focus()")
    window.evaluate("for (const letter of 'common') document.execCommand('insertText', false, letter)")
    wait_for(window, "signals.length")
    assert window.evaluate("signals.map(signal => signal.aborted)") == [False]
    window.write("s")
    wait_for(window, "signals.length == 2")
    assert window.evaluate("signals.map(signal => signal.aborted)") == [True, False]


def test_results_are_shown_while_somebody_types(window):
    window.open("/")
    type_and_wait(window, "commo")
    wait_for(window, "document.querySelectorAll('.hits > li').length == 10")
    assert window.evaluate("[location.search, document.body.className]") == ["?q=commo", ""]
    assert window.evaluate("[document.activeElement.id, document.getElementById('q').value]") == ["q", "commo"]


def test_a_suggested_title_opens_its_page(window, authority):
    window.open("/")
    type_and_wait(window, "comm")
    window.evaluate("navigation.addEventListener('navigate', e => { target = e.destination.url; e.preventDefault() })")
    window.evaluate(f"{LIST}.firstChild.click()")
    assert window.evaluate("target") == ROWS[0]["url"]


def test_keys_walk_from_the_field_to_the_hits_and_back(window):
    window.open("/?q=common")
    titles = "document.activeElement.closest('.hits') ? document.activeElement.textContent : document.activeElement.id"
    walked = []
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp"):
        window.press(key)
        walked.append(window.evaluate(titles))
    assert walked == ["Page 0", "Page 1", "Page 0", "q"]
    window.evaluate("document.activeElement.blur()")
    window.press("/")
    assert window.evaluate("[document.activeElement.id, document.activeElement.value]") == ["q", "common"]


@pytest.mark.parametrize(("width", "is_open"), [(1280, True), (1100, False)])
def test_facets_are_open_where_there_is_room_beside_the_hits(window, width, is_open):
    window.view(width, 800, "light")
    window.open("/?q=common")
    assert window.evaluate("document.querySelector('.facets').open") == is_open
    assert window.evaluate("document.documentElement.scrollWidth") <= width


def test_suggestions_are_text(window, authority):
    window.open("/")
    type_and_wait(window, "hosti")
    assert any("<script>" in option for option in window.evaluate(OPTIONS))
    assert window.evaluate(f"{LIST}.querySelectorAll('li *').length") == 0
    assert window.evaluate("typeof pwned") == "undefined"
    assert {url.split("/")[2] for url in window.requests} == {authority}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/", "/?q=common"])
def test_open_suggestions_are_accessible_and_fit_a_phone(window, path, scheme):
    window.view(360, 740, scheme, is_phone=True)
    window.open(path)
    window.evaluate("document.getElementById('q').value = ''")
    type_and_wait(window, "hosti")
    window.press("ArrowDown")
    assert axe(window, AXE) == []
    assert window.evaluate("document.documentElement.scrollWidth") == 360


def type_and_wait(window: Window, text: str) -> None:
    """Type a text into the search field and wait for its suggestions."""
    window.evaluate("document.getElementById('q').focus()")
    window.write(text)
    wait_for(window, f"!{LIST}.hidden")


def wait_for(window: Window, condition: str) -> None:
    """Wait until an expression is true in the page."""
    look = f"{condition} ? done() : setTimeout(look, 10)"
    window.evaluate(f"new Promise(done => {{ const look = () => {{ {look} }}; look() }})")


def test_a_page_is_submitted(window):
    window.open("/submit")
    window.evaluate("document.getElementById('url').focus()")
    window.write("http://b.test/")
    window.press("Enter")
    assert "outside the scope" in window.evaluate("document.querySelector('[role=alert]').textContent")
    assert [request.partition(" ")[0] for request in window.requests if "/submit" in request] == ["GET", "POST"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_accessible_and_fits_a_phone(window, scheme):
    window.view(360, 740, scheme, is_phone=True)
    for name, path in PAGES.items():
        window.open(path)
        window.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
        assert (name, axe(window, AXE)) == (name, [])
        assert (name, window.evaluate("document.documentElement.scrollWidth")) == (name, 360)


def test_what_axe_finds_is_told(window):
    window.open("/?q=common")
    window.evaluate("document.querySelector('label').remove(); document.getElementById('q').placeholder = ''")
    assert [found.split(":")[0] for found in axe(window, AXE)] == ["label"]
