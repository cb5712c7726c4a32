"""The search box on a page of another site, in a real Chromium, and what that site may read."""

import shutil
from collections.abc import Iterator
from importlib.resources import files

import pytest

from beamtrawl.search.gateway.app import create_app
from beamtrawl.search.gateway.embedding import as_origin
from tests.support.browser import Window, axe
from tests.support.command_line import failure
from tests.support.corpus import indexed
from tests.support.gateways import serving
from tests.support.prerequisites import lacks
from tests.support.web import Answer, Web, plain

ALLOWED = "https://docs.example.org"
EVIL = '<img src=x onerror="pwned=1"><script>pwned=1</script>'
ROWS = [
    {"url": f"http://a.test/{n}", "title": f"Herring {n}", "text": f"common words of page{n}"} for n in range(9)
] + [
    {"url": "http://b.test/evil", "title": EVIL, "text": f"hostile {EVIL}"},
    {"url": "javascript:pwned=1//", "title": "hostile link", "text": "hostile"},
    {
        "url": "http://b.test/nets",
        "title": "Nets",
        "text": "Nets\nOf rope.\nMending\nHow to mend lobsterpots.",
        "sections": [
            {"offset": 0, "length": 4, "level": 1, "id": "nets"},
            {"offset": 14, "length": 7, "level": 2, "id": "mending"},
        ],
    },
]


@pytest.mark.parametrize(
    ("given", "origin"),
    [
        ("https://docs.example.org", "https://docs.example.org"),
        ("HTTP://Docs.Example.org:80/", "http://docs.example.org"),
        ("https://bücher.example:8443", "https://xn--bcher-kva.example:8443"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        *((bad, None) for bad in ("https://a.test/docs", "https://a.test/?", "https://a.test/#", "//a.test", "a.test")),
        *((bad, None) for bad in ("*", "https://*.a.test", "null", "file:///", "https://me@a.test", "https://", "")),
        *((bad, None) for bad in ("https://a.test\\b", "https://a.test:99999", "https://a test")),
    ],
)
def test_an_origin_is_what_browsers_state(given, origin):
    if origin:
        assert as_origin(given) == origin
    else:
        with pytest.raises(ValueError, match="must be an origin"):
            as_origin(given)


def test_an_origin_that_is_none_is_one_line(tmp_path):
    message = "--allow-origin https://a.test/docs: must be an origin such as https://docs.example.org, without a path"
    assert failure("serve", tmp_path, "--allow-origin", "https://a.test/docs") == (2, message)


@pytest.mark.parametrize(
    ("path", "origin", "told"),
    [
        *((path, ALLOWED, ALLOWED) for path in ("/box.js", "/api/search?q=common", "/api/suggest?q=com")),
        *((path, "https://docs.example.org.evil.test", None) for path in ("/box.js", "/api/search?q=common")),
        *(("/api/search?q=common", origin, None) for origin in ("null", "http://docs.example.org", "*", None)),
        ("/api/search", ALLOWED, ALLOWED),  # an error: the box shows it
        *((path, ALLOWED, None) for path in ("/", "/?q=common", "/cached?url=http://a.test/1", "/changes", "/metrics")),
        ("/static/box.js", ALLOWED, None),
    ],
)
def test_only_allowed_origins_read_and_only_the_api_and_the_script(client, path, origin, told):
    answer = client.get(path, headers={"Origin": origin} if origin else {}, buffered=True)
    assert answer.headers.get("Access-Control-Allow-Origin") == told
    assert answer.headers.get("Access-Control-Allow-Credentials") is None
    if path.startswith(("/api", "/box")):
        assert "Origin" in answer.headers["Vary"]  # else a cache gives one site's answer to another


def test_by_default_no_origin_is_allowed(tmp_path):
    answer = create_app(indexed(tmp_path, ROWS)).test_client().get("/api/search?q=common", headers={"Origin": ALLOWED})
    assert (answer.status_code, answer.headers.get("Access-Control-Allow-Origin")) == (200, None)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    return create_app(indexed(tmp_path_factory.mktemp("crawl"), ROWS), origins=[ALLOWED]).test_client()


BOX = "document.querySelector('beamtrawl-search').shadowRoot"
FIELD = f"{BOX}.getElementById('field')"
LIST = f"{BOX}.getElementById('list')"
OPTIONS = f"[...{LIST}.querySelectorAll('[role=option]')].map(option => option.firstChild.textContent)"
ACTIVE = f"{BOX}.querySelector('[aria-selected=true]')?.firstChild.textContent"


@pytest.fixture(scope="module")
def documentation(tmp_path_factory) -> Iterator[Web]:
    """A site with pages that embed the box of a gateway, allowed or not."""
    if not shutil.which("chromium"):
        lacks("there is no chromium")
    pages = {"/": plain("not yet")}
    with Web({"docs": pages, "other": pages}) as web:
        crawl = indexed(tmp_path_factory.mktemp("crawl"), ROWS)
        with serving(crawl.root, "--rate", "0", "--allow-origin", web.url("docs")) as gateway:
            script = f"<script type='module' src='http://{gateway}/box.js'></script>"
            policy = f"script-src http://{gateway}; style-src 'none'; connect-src http://{gateway}"
            headers = (("Content-Type", "text/html; charset=utf-8"), ("Content-Security-Policy", policy))
            for path, attributes in (("/", ""), ("/filtered", "label='Suche' filter='title:3'")):
                body = f"<main><h1>Docs</h1><beamtrawl-search {attributes}>{script}</beamtrawl-search></main>"
                head = (
                    '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
                )
                page = (
                    f'<!doctype html><html lang="en"><head><title>Docs</title>{head}</head><body>{body}</body></html>'
                )
                pages[path] = Answer(200, page.encode(), headers)
            web.gateway = gateway
            yield web


@pytest.fixture
def window(documentation) -> Iterator[Window]:
    with Window(documentation.authority("docs"), documentation.gateway) as window:
        window.open("/")
        yield window


def ask(window: Window, text: str) -> None:
    """Type a text into the box and wait for its list."""
    window.evaluate(f"{FIELD}.focus()")
    window.write(text)
    wait_for(window, f"!{LIST}.hidden")


def wait_for(window: Window, condition: str) -> None:
    """Wait until an expression is true in the page."""
    look = f"{condition} ? done() : setTimeout(look, 10)"
    window.evaluate(f"new Promise(done => {{ const look = () => {{ {look} }}; look() }})")


@pytest.mark.slow("browser")
def test_a_query_by_keyboard(window, documentation):
    ask(window, "comm")
    pages = [f"Herring {n}" for n in range(6)]
    assert window.evaluate(OPTIONS) == [*pages, "common", "All 9 pages"]
    window.press("Escape")
    assert window.evaluate(f"[{LIST}.hidden, {FIELD}.value]") == [True, "comm"]
    window.write("on")
    wait_for(window, f"!{LIST}.hidden")
    assert window.evaluate(OPTIONS) == [*pages, "All 9 pages"]
    chosen = []
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp", "ArrowUp"):
        window.press(key)
        chosen.append(window.evaluate(ACTIVE))
    assert chosen == ["Herring 0", "Herring 1", "Herring 0", None, "All 9 pages"]
    window.press("Enter")
    assert window.evaluate("location.href") == f"http://{documentation.gateway}/?q=common"


@pytest.mark.slow("browser")
def test_enter_without_a_choice_shows_all_results_on_the_gateway(window, documentation):
    ask(window, "common")
    window.press("Enter")
    assert window.evaluate("location.href") == f"http://{documentation.gateway}/?q=common"


@pytest.mark.slow("browser")
def test_a_hit_is_a_link_to_its_page(window):
    ask(window, "page3")
    links = f"[...{LIST}.querySelectorAll('a')].map(link => link.href)"
    assert window.evaluate(links) == ["http://a.test/3"]
    window.evaluate("navigation.addEventListener('navigate', e => { target = e.destination.url; e.preventDefault() })")
    window.evaluate(f"{LIST}.querySelector('a').click()")
    assert window.evaluate("target") == "http://a.test/3"


@pytest.mark.slow("browser")
def test_a_section_is_a_choice_below_its_page(window):
    ask(window, "lobsterpots")
    assert window.evaluate(OPTIONS) == ["Nets", "Mending"]
    links = f"[...{LIST}.querySelectorAll('a')].map(link => link.href)"
    assert window.evaluate(links) == ["http://b.test/nets", "http://b.test/nets#mending"]


@pytest.mark.slow("browser")
def test_attributes_filter_and_name_the_box(window):
    window.open("/filtered")
    ask(window, "common")
    assert window.evaluate(OPTIONS) == ["Herring 3"]
    assert window.evaluate(f"{BOX}.querySelector('label').textContent") == "Suche"


@pytest.mark.slow("browser")
def test_nothing_found_is_said(window):
    ask(window, "nowhere")
    assert window.evaluate(f"{LIST}.textContent") == "No page matches."


@pytest.mark.slow("browser")
def test_hostile_pages_are_text(window):
    ask(window, "hostile")
    assert window.evaluate(OPTIONS) == [EVIL, "hostile link"]  # the second is a query, by its title
    schemes = f"[...{LIST}.querySelectorAll('a')].map(link => link.protocol)"
    assert window.evaluate(schemes) == ["http:", "http:"]
    assert window.evaluate(f"{BOX}.querySelectorAll('img, script').length") == 0
    assert window.evaluate("typeof pwned") == "undefined"


@pytest.mark.slow("browser")
def test_an_origin_that_is_not_allowed_gets_nothing(documentation):
    with Window(documentation.authority("other"), documentation.gateway) as window:
        window.open("/")
        assert any(request.endswith("/box.js") for request in window.requests)
        assert window.evaluate("customElements.get('beamtrawl-search') === undefined")
        address = f"http://{documentation.gateway}/api/search?q=common"
        assert window.evaluate(f"fetch('{address}').then(r => r.text(), error => error.name)") == "TypeError"


@pytest.mark.slow("browser")
def test_a_gateway_that_does_not_answer_is_said(documentation):
    with Window(documentation.authority("docs"), documentation.gateway) as window:
        window.open("/")
        window.evaluate("fetch = () => Promise.reject(new TypeError('Failed to fetch'))")
        ask(window, "common")
        assert window.evaluate(f"{LIST}.textContent") == "The search cannot be reached."


@pytest.mark.slow("browser")
@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (1200, "dark"), (360, "light"), (360, "dark")])
def test_the_open_box_is_accessible_and_fits(window, width, scheme):
    script = files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    window.view(width, 740, scheme, is_phone=width < 500)
    ask(window, "common")
    window.press("ArrowDown")
    assert axe(window, script) == []
    assert window.evaluate("document.documentElement.scrollWidth") == width
    assert window.evaluate(f"getComputedStyle({LIST}).backgroundColor") == (
        "rgb(255, 255, 255)" if scheme == "light" else "rgb(27, 35, 34)"
    )
