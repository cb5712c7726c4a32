"""Pages that scripts make, in a real Chromium: what is found, and what its scripts may ask for."""

import contextlib
import dataclasses
import itertools
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from beamtrawl.transforms.http.reply import Reply
from beamtrawl.transforms.plugins import PluginError
from beamtrawl.transforms.politeness.host_queue import BrowserRules
from beamtrawl.transforms.rendering.chromium import Scripts, render
from beamtrawl.transforms.settings import Fetch, Settings
from tests.support.command_line import failure
from tests.support.crawls import crawl, rows
from tests.support.prerequisites import lacks
from tests.support.servers import Page, Servers
from tests.support.web import Answer, Web, html, plain

# Stated here and not imported: a changed limit fails a test.
MAX_REQUESTS = 64

if not shutil.which("chromium"):
    lacks("there is no chromium", whole_module=True)

pytestmark = pytest.mark.slow("browser")

HOME = "http://a.test/"
AGENT = {"User-Agent": "Reader/1.0", "From": "me@a.test", "If-None-Match": '"1"'}
HTML = [("Content-Type", "text/html; charset=utf-8"), ("ETag", '"2"')]


def page(script: str, body: str = "") -> Reply:
    return Reply(200, HTML, f"<title>T</title><body>{body}<script>{script}</script>".encode())


def script(text: str) -> Reply:
    return Reply(200, [("Content-Type", "text/javascript")], text.encode())


@pytest.fixture
def secret() -> Iterator[tuple[str, socket.socket]]:
    """A service on this machine that nobody may ask: its authority, and what listens there."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield f"127.0.0.1:{listener.getsockname()[1]}", listener


class Rendered:
    """A renderer of servers in memory."""

    def __init__(self, pages: dict[str, Reply | Page], forbidden: str = "", rest: float = 0.0, **fetch) -> None:
        self.servers = Servers({"*": Reply(404), **{f"http://a.test{path}": reply for path, reply in pages.items()}})
        self.rests: list[float] = []
        browser_rules = BrowserRules(lambda url: not forbidden or forbidden not in url, self._rest)
        self._seconds = rest
        settings = Settings(fetch=dataclasses.replace(Fetch(), **fetch))
        self.client = render(settings)(self.servers.open_client(browser_rules), browser_rules)

    def _rest(self, elapsed_s: float) -> float:
        self.rests.append(elapsed_s)
        return self._seconds

    @property
    def asked(self) -> list[str]:
        return [url.removeprefix("http://a.test") for url in self.servers.urls]


def rendered(pages: dict[str, Reply | Page], **more) -> tuple[Reply, list[str]]:
    """The reply for the first of the pages, and all that was asked for."""
    there = Rendered(pages, **more)
    with contextlib.closing(there.client):
        return there.client.get(f"http://a.test{next(iter(pages))}", AGENT), there.asked


WRITE = "document.body.append"
# pages, what the first then holds, what was asked for besides
MADE = {
    "by a script in it": ({"/": page(f"{WRITE}('ma' + 'de')")}, "made", []),
    "by one of its own files": (
        {"/": page("", "<script src=/s.js></script>"), "/s.js": script(f"{WRITE}('ma' + 'de')")},
        *("made", ["/s.js"]),
    ),
    "by a module and what that imports": (
        {
            "/": page("", "<script type=module src=/m.js></script>"),
            "/m.js": script(f"import {{word}} from '/n.js'; {WRITE}(word)"),
            "/n.js": script("export const word = 'made'"),
        },
        *("made", ["/m.js", "/n.js"]),
    ),
    "from data": (
        {"/": page(f"fetch('/d?x=1').then(r => r.text()).then(t => {WRITE}(t))"), "/d?x=1": script("made")},
        *("made", ["/d"]),
    ),
    "after some seconds": ({"/": page(f"setTimeout(() => {WRITE}('ma' + 'de'), 4000)")}, "made", []),
    "after a dialogue": ({"/": page(f"alert(1); confirm(2); {WRITE}('ma' + 'de')")}, "made", []),
    "with another address shown": ({"/": page(f"history.pushState(0, '', '/x'); {WRITE}('ma' + 'de')")}, "made", []),
    "knowing who asks": ({"/": page(f"{WRITE}(navigator.userAgent)")}, "Reader/1.0", []),
    "although a file is missing": (
        {"/": page(f"fetch('/gone').then(r => {WRITE}('status ' + r.status))")},
        *("status 404", ["/gone"]),
    ),
}


@pytest.mark.parametrize(("pages", "text", "asked"), MADE.values(), ids=MADE)
def test_what_scripts_make_is_in_the_page(pages, text, asked):
    reply, found = rendered(pages)
    assert text in reply.body.decode()
    assert (reply.status, reply.error, reply.failure) == (200, None, None)
    assert sorted(reply.headers) == sorted([("Content-Type", "text/html; charset=utf-8"), ("ETag", '"2"')])
    assert found == ["/", *asked]


REFUSED = {
    "images, styles, fonts, media": "for (const t of ['img', 'audio', 'embed', 'iframe']) document.body.append("
    "Object.assign(document.createElement(t), {src: '/x'})); document.head.insertAdjacentHTML('beforeend',"
    "'<link rel=stylesheet href=/s.css><link rel=prefetch href=/p><link rel=icon href=/i>')",
    "what sends something": "fetch('/x', {method: 'POST', body: 'x'}); navigator.sendBeacon('/b', 'x')",
    "another page": "location = '/elsewhere'",
    "another window": "open('/window')",
    "another host": "fetch('http://b.test/x'); import('http://b.test/m.js')",
    "what robots.txt forbids": "fetch('/private/x')",
    "an internal address": "fetch('http://SECRET/'); new WebSocket('ws://SECRET/'); new EventSource('http://SECRET/');"
    "new Worker(URL.createObjectURL(new Blob([`fetch('http://SECRET/')`])));"
    "document.head.insertAdjacentHTML('beforeend', '<link rel=preconnect href=http://SECRET/>');"
    "open('http://SECRET/'); document.body.innerHTML += '<iframe src=http://SECRET/></iframe>'",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_scripts_do_not_get(text, secret):
    authority, listener = secret
    reply, asked = rendered(
        {"/": page(f"{text.replace('SECRET', authority)}; {WRITE}('ma' + 'de')")}, forbidden="/private/"
    )
    assert reply.error is None
    assert b"made" in reply.body
    assert asked == ["/"]
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_requests_of_scripts_say_who_asks_and_from_where():
    there = Rendered({"/": page("", "<script src=/s.js></script>"), "/s.js": script("")}, rest=0.0)
    with contextlib.closing(there.client):
        there.client.get(HOME, AGENT)
    assert dict(there.servers.requests[1].headers) == {
        "user-agent": "Reader/1.0",
        "from": "me@a.test",
        "accept": "*/*",
        "referer": HOME,
    }


def test_a_host_rests_between_the_requests_of_a_page():
    pages = {"/": page("fetch('/1'); fetch('/2')"), "/1": script("x"), "/2": script("y")}
    there = Rendered(pages, rest=0.2)
    with contextlib.closing(there.client):
        there.client.get(HOME, AGENT)
    assert there.asked == ["/", "/1", "/2"]
    times = [(request.started, request.ended) for request in there.servers.requests]
    assert all(later[0] - earlier[1] >= 0.2 for earlier, later in itertools.pairwise(times))


def test_a_script_is_asked_for_once():
    files = "<script src=/s.js></script><script src=/gone.js></script>"
    there = Rendered({path: page("", files) for path in ("/a", "/b")} | {"/s.js": script("")})
    with contextlib.closing(there.client):
        there.client.get("http://a.test/a", AGENT)
        there.client.get("http://a.test/b", AGENT)
    assert there.asked == ["/a", "/s.js", "/gone.js", "/b"]


def test_trouble_with_one_of_its_requests_ends_those_of_a_page():
    pages = {"/": page("fetch('/1').finally(() => fetch('/2'))"), "/1": Reply(503)}
    assert rendered(pages)[1] == ["/", "/1"]


def test_a_page_asks_for_so_much_and_no_more():
    _, asked = rendered({"/": page("for (let i = 0; i < 99; i++) fetch('/' + i)")})
    assert len(asked) == 1 + MAX_REQUESTS


# replies that no browser sees
PLAIN = {
    "no page": Reply(200, [("Content-Type", "text/plain")], b"<script>document.write(1)</script>"),
    "nothing": Reply(204, HTML),
    "an error": Reply(404, HTML, b"<p>gone"),
    "a redirect": Reply(302, [*HTML, ("Location", "/x")], b"<p>moved"),
    "not modified": Reply(304),
}


@pytest.mark.parametrize("reply", PLAIN.values(), ids=PLAIN)
def test_what_is_no_page_stays_as_it_is(reply):
    assert rendered({"/": reply})[0] == reply


def test_what_is_asked_for_in_any_type_stays_as_it_is():
    there = Rendered({"/": page(f"{WRITE}('ma' + 'de')")})
    assert there.client.get(HOME, AGENT, any_type=True) == page(f"{WRITE}('ma' + 'de')")


def test_a_page_that_never_ends_is_taken_as_it_came():
    reply, _ = rendered({"/": page("for (;;) {}")}, total_timeout=4.0)
    assert reply == page("for (;;) {}")._replace(error="not rendered: the browser timed out")


def test_what_there_is_no_time_for_is_left_out():
    """A delay longer than a request may take, as a Crawl-delay can be."""
    reply, asked = rendered({"/": page(f"fetch('/x').finally(() => {WRITE}('ma' + 'de'))")}, rest=1e6)
    assert (b"made" in reply.body, reply.error, asked) == (True, None, ["/"])


def test_a_request_can_be_cut():
    def cut(url, headers):
        there.client.abort()  # as another thread would
        return Reply(404)

    there = Rendered({"/": page("fetch('/x')"), "/x": cut})
    with contextlib.closing(there.client):
        assert there.client.get(HOME, AGENT) == page("fetch('/x')")._replace(
            error="not rendered: the browser has exited"
        )
        assert there.client.get(HOME, AGENT).error is not None  # and the next one has a new browser, which ends as well


def test_a_page_is_cut_at_its_bound():
    reply, _ = rendered({"/": page(f"{WRITE}('x'.repeat(1e6))")}, max_body_bytes=5_000)
    assert (len(reply.body), reply.truncated) == (5_000, True)


def test_scripts_are_kept_as_long_as_there_is_room():
    scripts = Scripts(10)
    for name in "abc":
        scripts.put(name, Reply(body=bytes(4)))
    assert [scripts.get(name) is not None for name in "abc"] == [False, True, True]


def test_without_a_browser_a_crawl_does_not_start(tmp_path: Path):
    message = 'fetch.browser = "netscape": no such program; install Chromium, or set its path'
    with pytest.raises(PluginError, match="install Chromium"):
        render(Settings(fetch=Fetch(browser="netscape")))
    (tmp_path / "crawl.toml").write_text('fetch.downloaders = ["render 127.0.0.1:9"]\nfetch.browser = "netscape"')
    assert failure("crawl", tmp_path, "--seed", "http://127.0.0.1:9/") == (2, message)


def test_a_crawl_finds_what_scripts_make(tmp_path: Path):
    app = """<title>App</title><div id=a>Loading</div><a href=/static>Static</a><img src=/i.png>
    <script src=/app.js></script>"""
    code = """setTimeout(() => fetch('/data.json').then(r => r.json()).then(found => {
        a.innerHTML = `<h1>${found.title}</h1><a href=/made>${found.link}</a>` }), 1000); fetch('/private/x')"""
    sites = {
        "a.test": {
            "/robots.txt": plain("User-agent: *\nDisallow: /private/\n"),
            "/": app,
            "/app.js": Answer(body=code.encode(), headers=(("Content-Type", "text/javascript"),)),
            "/data.json": Answer(
                body='{"title": "고등어", "link": "Made"}'.encode(), headers=(("Content-Type", "application/json"),)
            ),
            "/made": html("Made"),
            "/static": html("Static"),
        },
        "b.test": {"/": app},
    }
    with Web(sites) as web:
        here = web.authority("a.test")
        seeds = [web.url("a.test"), web.url("b.test")]
        crawl(tmp_path, seeds, fetch__downloaders=[f"render {here}"], politeness__delay=0.1)
        requests = [request for request in web.requests if request.host == "a.test"]
    found = {row["url"]: row for row in rows(tmp_path, "documents")}
    assert found[web.url("a.test")]["text"].splitlines()[0] == "고등어"
    assert found[web.url("b.test")]["text"].splitlines()[0] == "Loading"
    assert {row["anchor"] for row in rows(tmp_path, "links") if row["kind"] == "a"} == {"Made", "Static"}
    assert sorted(request.path for request in requests) == sorted(sites["a.test"])
    assert all(b.started - a.ended >= 0.1 for a, b in itertools.pairwise(requests))
