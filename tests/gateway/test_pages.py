"""What people and programs get from the search gateway."""

import itertools
import re
from datetime import UTC, datetime
from html import unescape
from xml.etree import ElementTree

import pytest
from protego import Protego

from beamtrawl.search.gateway.app import create_app
from beamtrawl.transforms.directory.crawl_dir import Manifest
from tests.support.corpus import commit, indexed

# Stated here and not imported: a changed limit fails a test.
MAX_TEXT = 200_000

EVIL = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
ROWS = [
    {"url": f"http://a.test/{n:02d}", "title": f"Page {n}", "text": f"common words and number{n}"} for n in range(25)
]
ODD = [
    {"url": "javascript://a.test/%0Aalert(1)", "title": "odd scheme", "text": "odd"},
    {"url": "https://b.test/?a=1&b='\"<", "title": EVIL, "text": f"odd {EVIL}", "language": EVIL},
    {"url": "https://b.test/untitled", "text": "odd"},
    {"url": "https://b.test/ko", "title": "한국어 문서", "text": "검색 엔진은 무엇인가", "language": "ko"},
]
KINDS = [
    {"url": "http://c.test/1", "title": "One", "text": "kind one\n\n  kind two", "media_type": "text/html"},
    {
        "url": "http://c.test/2.pdf",
        "text": "kinds",
        "media_type": "application/pdf",
        "published_at": datetime(2024, 5, 6, tzinfo=UTC),
    },
    {"url": "http://c.test/3", "text": "kind", "language": "de", "media_type": "text/x-odd"},
    {"url": "http://d.test/%EA%B0%80", "text": "kind", "description": "A secret kind.", "noarchive": True},
    {"url": "http://d.test/long", "text": f"endless {'word ' * (MAX_TEXT // 5)} end"},
]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    return create_app(indexed(tmp_path_factory.mktemp("crawl"), ROWS, ODD, KINDS)).test_client()


def test_the_form_is_there_before_any_query(client):
    page = client.get("/")
    assert page.status_code == 200
    assert "34 pages can be searched" in page.text
    assert re.search(r'<form role="search" action="/" method="get">.*<label .*for="q".*name="q"', page.text, re.S)
    assert client.get("/?q=++").text == page.text


@pytest.mark.parametrize("ask", [lambda c: c.get("/?q=number7"), lambda c: c.post("/", data={"q": "number7"})])
def test_results_by_get_and_post(client, ask):
    page = ask(client)
    assert page.status_code == 200
    assert "1 page found" in page.text
    assert '<a href="http://a.test/07" rel="nofollow noopener noreferrer">Page 7</a>' in page.text
    assert "common words and <mark>number7</mark>" in page.text
    assert 'value="number7"' in page.text


def test_hits_carry_their_language(client):
    page = client.get("/", query_string={"q": "검색"}).text
    assert '<h2 dir="auto" lang="ko">' in page
    assert "<mark>검색</mark> 엔진은" in page


def test_an_empty_answer_says_so(client):
    page = client.get("/?q=nowhere")
    assert (page.status_code, "No results" in page.text) == (200, True)


def test_pages_follow_one_another(client):
    links = {}
    for number in (1, 2, 3, 9):
        page = client.get(f"/?q=common&page={number}").text
        links[number] = re.findall(r'<a rel="(\w+)" href="([^"]+)"', page)
        assert len(re.findall(r"<h2", page)) == {1: 10, 2: 10, 3: 5, 9: 0}[number]
    before, after = "/?q=common&amp;page=", "next"
    assert links == {
        1: [(after, f"{before}2")],
        2: [("prev", f"{before}1"), (after, f"{before}3")],
        3: [("prev", f"{before}2")],
        9: [],
    }


def test_results_are_sorted_by_date_if_it_is_asked(client):
    page = client.get("/?q=kinds&sort=date").text
    assert '<a href="/?q=kinds">Best first</a> · <b>newest first</b>' in page
    assert '<b>Best first</b> · <a href="/?q=kinds&amp;sort=date">newest first</a>' in client.get("/?q=kinds").text
    assert 'href="/?q=common&amp;page=2&amp;sort=date"' in client.get("/?q=common&sort=date").text
    dated = [hit["published_at"] for hit in client.get("/api/search?q=kind+kinds&sort=date").json["hits"]]
    assert dated[-1].startswith("2024-05-06") and dated[:-1] == [None] * (len(dated) - 1)


def test_a_date_that_is_none_is_said(client):
    assert '<p dir="auto" lang="en">after:soon is taken as words: a date is' in client.get("/?q=common+after:soon").text
    assert client.get("/api/search?q=common+after:soon").json["notes"][0].startswith("after:soon is taken as words")


def test_words_that_no_page_has_are_named(client):
    url = "/?q=common+zebra+quagga"
    assert '<p dir="auto">No page has zebra, quagga.</p>' in client.get(url).text
    assert "페이지가 없습니다: zebra, quagga</p>" in client.get(url, headers={"Accept-Language": "ko"}).text
    assert client.get("/api/search?q=common+zebra").json["unknown_words"] == ["zebra"]


def test_nothing_crawled_or_asked_can_become_markup(client):
    page = client.get("/", query_string={"q": f"odd {EVIL}"}).text
    assert scripts(page) == ["/static/suggest.js"]
    assert "<img" not in page
    assert "&lt;script&gt;" in page
    assert '<a href="https://b.test/?a=1&amp;b=&#39;&#34;&lt;"' in page
    assert ">b.test/untitled</a>" in page
    assert "odd scheme" in page
    assert 'href="javascript' not in page
    assert "style=" not in page
    assert not re.search(r'\son\w+="', page)


@pytest.mark.parametrize("path", ["/", "/?q=odd", "/api/search?q=odd", "/missing", "/?page=x", "/static/style.css"])
def test_every_answer_forbids_the_browser_what_it_does_not_need(client, path):
    headers = client.get(path, buffered=True).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"


def test_the_page_needs_only_what_the_gateway_itself_serves(client):
    page = client.get("/?q=common").text
    for path in re.findall(r'<link [^>]*href="([^"]+)"', page) + scripts(page):
        assert client.get(path, buffered=True).status_code == 200


def scripts(page: str) -> list[str | None]:
    """The addresses of the scripts of a page; None for one that is in the page."""
    found = re.findall("<script[^>]*>", page)
    return [address[1] if (address := re.search('src="([^"]+)"', tag)) else None for tag in found]


def test_the_api_answers_in_json(client):
    answer = client.get("/api/search?q=common&limit=3&offset=24")
    assert answer.content_type == "application/json"
    assert (answer.json["query"], answer.json["total"]) == ("common", 25)
    (hit,) = answer.json["hits"]
    assert set(hit) == {
        *("url", "title", "snippet", "score", "host", "language", "media_type", "noarchive"),
        *("round", "fetched_at", "published_at"),
    }


def test_the_api_gives_pages_by_cursor_though_the_index_changes(tmp_path):
    crawl, times = indexed(tmp_path, ROWS), itertools.count()
    client = create_app(crawl, clock=lambda: float(next(times))).test_client()

    def answer(after=None):
        return client.get(
            "/api/search", query_string={"q": "common", "limit": "10"} | ({"after": after} if after else {})
        )

    first = answer().json
    commit(crawl, 2, [ROWS[3] | {"text": "common"}, {"url": "http://a.test/new", "text": "common common"}])
    assert answer().json["total"] == 26
    second = answer(first["next"]).json
    third = answer(second["next"]).json
    urls = [hit["url"] for page in (first, second, third) for hit in page["hits"]]
    assert sorted(urls) == sorted(row["url"] for row in ROWS)
    assert (second["total"], third["total"], "next" in third) == (25, 25, False)
    merged = ("index/round=000001/shard-0000-0000000000000000",)
    crawl.commit(Manifest("compact", 3, "", (), {}, (), "", "", index_replaced=merged, index_dropped=merged))
    gone = answer(first["next"])
    assert gone.status_code == 400
    assert (
        gone.json["error"] == "after: the cursor is of an index that cannot be read any more: search again without it."
    )


def test_browsers_keep_the_style_for_an_hour(client):
    assert client.get("/static/style.css", buffered=True).cache_control.max_age == 3600


def facts(page):
    """What the page of results says of each hit besides title and snippet, without markup."""
    lists = re.findall(r'<ul class="facts">(.*?)</ul>', page, re.S)
    return [[re.sub("<[^>]+>", "", item) for item in re.findall("<li.*?>(.*?)</li>", found, re.S)] for found in lists]


def test_what_is_telling_of_a_hit_is_said(client):
    hits = {found[0]: found[1:] for found in facts(client.get("/?q=kind").text)}
    assert hits == {
        "c.test/1": ["en", "fetched 2026-01-02", "Cached text of One"],
        "c.test/2.pdf": ["PDF", "en", "published 2024-05-06", "Cached text of c.test/2.pdf", "More from c.test"],
        "c.test/3": ["text/x-odd", "de", "fetched 2026-01-02", "Cached text of c.test/3"],
        "d.test/가": ["en", "fetched 2026-01-02"],
    }
    assert "fetched" not in client.get("/?q=common").text  # all are of one day
    (alone,) = facts(client.get("/?q=kind+type:pdf").text)
    assert alone[1:3] == ["PDF", "published 2024-05-06"]


def test_hosts_take_turns_on_the_page_and_in_the_api_if_it_is_asked(client):
    page = client.get("/?q=kind").text
    places = [found[0].split("/")[0] for found in facts(page)]
    assert places == ["c.test", "c.test", "d.test", "c.test"]
    (more,) = re.findall(r'<a href="([^"]+)">More from c.test</a>', page)
    assert [found[0] for found in facts(client.get(more).text)] == ["c.test/1", "c.test/3", "c.test/2.pdf"]
    hosts = {
        asked: [hit["host"] for hit in client.get(f"/api/search?q=kind{asked}").json["hits"]]
        for asked in ("", "&per_host=1")
    }
    assert hosts == {
        "": ["c.test", "c.test", "d.test", "c.test"],
        "&per_host=1": ["c.test", "d.test", "c.test", "c.test"],
    }


def test_help_with_spelling_is_a_link(client):
    page = client.get("/?q=comon").text
    (link,) = re.findall(r'Did you mean <a dir="auto" href="([^"]+)">common</a>\?', page)
    assert "25 pages found" in client.get(link).text
    assert client.get("/api/search?q=comon").json["suggestion"] == "common"
    assert "Did you mean" not in client.get("/?q=common").text


def test_the_api_explains_scores(client):
    hit = client.get("/api/search?q=number7&explain=1").json["hits"][0]
    assert [part["text"] for part in hit["explanation"]["parts"]] == ["number7", '"number7"']


def test_a_cached_text_has_its_date_its_link_and_the_words_marked(client):
    (link,) = re.findall(r'href="(/cached[^"]+)"', client.get("/?q=kind+site:c.test+title:one").text)
    page = client.get(link.replace("&amp;", "&")).text
    assert ">One</h1>" in page
    assert "2026-01-02 00:00 UTC" in page
    assert '<a href="http://c.test/1" rel="nofollow noopener noreferrer">c.test/1</a>' in page
    assert re.findall("<p>(.*)</p>", page) == ["<mark>kind</mark> <mark>one</mark>", "  <mark>kind</mark> two"]


def test_a_long_text_is_cut_and_says_so(client):
    page = client.get("/cached?url=http://d.test/long").text
    assert "The rest of the text is not shown." in page
    assert MAX_TEXT < len(page) < MAX_TEXT + 5_000


@pytest.mark.parametrize(
    ("url", "status", "says"),
    [
        ("http://d.test/%25EA%25B0%2580", 403, "does not allow cached copies"),
        ("http://nowhere.test/", 404, "No text is stored for &#39;http://nowhere.test/&#39;"),
        ("", 404, "No text is stored for"),
        ("%3Cscript%3E", 404, "&lt;script&gt;"),
    ],
)
def test_a_text_that_there_is_not(client, url, status, says):
    answer = client.get(f"/cached?url={url}")
    assert (answer.status_code, says in answer.text, "secret" in answer.text) == (status, True, False)


def test_a_cached_text_cannot_become_markup(client):
    page = client.get("/cached", query_string={"url": ODD[1]["url"], "q": f"odd {EVIL}"}).text
    assert "&lt;script&gt;" in page
    assert scripts(page) == ["/static/suggest.js"]
    assert "<img" not in page
    page = client.get("/cached", query_string={"url": ODD[0]["url"]}).text
    assert "odd scheme" in page
    assert 'href="javascript' not in page


def test_browsers_learn_how_to_search(client):
    page = client.get("/").text
    (path,) = re.findall(r'<link rel="search" type="application/opensearchdescription\+xml"[^>]* href="([^"]+)"', page)
    answer = client.get(path)
    assert answer.mimetype == "application/opensearchdescription+xml"
    name = "{http://a9.com/-/spec/opensearch/1.1/}"
    root = ElementTree.fromstring(answer.text)
    assert root.tag == f"{name}OpenSearchDescription"
    assert 0 < len(root.findtext(f"{name}ShortName")) <= 16
    templates = {url.get("type"): url.get("template") for url in root.findall(f"{name}Url")}
    # A browser puts in what it has, and nothing for what it has not.
    asked = {kind: re.sub(r"{\w+\?}", "", url.replace("{searchTerms}", "number7")) for kind, url in templates.items()}
    assert "1 page found" in client.get(asked["text/html"]).text
    assert client.get(asked["application/json"]).json["total"] == 1
    assert client.get(asked["application/x-suggestions+json"]).get_json(force=True)[0] == "number7"


def test_a_page_beyond_the_last_is_told_as_it_is(client):
    page = client.get("/?q=common&page=99").text
    assert "There is no page 99: the results have 3 pages." in page and "page 99 of" not in page
    assert '<a href="/?q=common&amp;page=3">Show the last one</a>' in page
    assert "There is no page 2: the results have one page." in client.get("/?q=number7&page=2").text


@pytest.mark.parametrize(
    ("query", "offered"),
    [
        ("common lang:de", ["lang:de", "common"]),
        ('+nowhere +common "number7"', ["+nowhere"]),
        ("nowhere", []),
        ("nowhere AND common", []),
    ],
)
def test_without_results_a_part_can_be_dropped(client, query, offered):
    page = client.get("/", query_string={"q": query}).text
    found = re.findall(r'<li><a dir="auto" href="([^"]+)">(.*?)</a></li>', page)
    assert [unescape(text) for _, text in found] == offered
    for link, _ in found:
        assert "No results" not in client.get(unescape(link)).text
    assert ("Try fewer or other words" in page) == (not offered)


def test_robots_keep_out(client):
    rules = Protego.parse(client.get("/robots.txt").text)
    assert not rules.can_fetch("http://a.test/?q=common", "AnyBot")


def test_a_page_that_forbids_snippets_shows_its_title_alone(tmp_path):
    rows = [
        {"url": "http://a.test/1", "title": "One", "text": "secret words", "description": "About", "max_snippet": 0},
        {"url": "http://a.test/2", "title": "Two", "text": "the secret words of it", "nosnippet": [4, 11]},
    ]
    client = create_app(indexed(tmp_path, rows)).test_client()
    page = client.get("/?q=secret")
    assert "2 pages found" in page.text and ">One</a>" in page.text and ">Two</a>" in page.text
    assert "About" not in page.text and "secret words" not in page.text
    assert client.get("/cached?url=http://a.test/1").status_code == 403
    assert "secret" not in client.get("/cached?url=http://a.test/2").text
    assert [hit["snippet"] for hit in client.get("/api/search?q=secret").json["hits"]] in (
        ["", "the words of it"],
        ["the words of it", ""],
    )


def test_weaker_matches_follow_on_the_page(tmp_path):
    rows = [{"url": f"http://host{n}.test/", "title": f"T{n}", "text": f"w{n % 2} fog"} for n in range(24)]
    client = create_app(indexed(tmp_path, rows)).test_client()
    pages = [client.get("/", query_string={"q": '"none of" w0 w1', "page": number}).text for number in (1, 2, 3, 4)]
    assert all("0 pages found, and 24 that match much worse" in page for page in pages)
    assert [page.count("<li>\n    <h2") for page in pages] == [10, 10, 4, 0]
    shown = [set(re.findall(r'href="(http://host\d+\.test/)"', page)) for page in pages]
    assert set().union(*shown) == {row["url"] for row in rows}
    assert [page.count("matches much worse") for page in pages] == [10, 10, 4, 0]
    assert "Page 3 of 3" in pages[2] and "There is no page 4" in pages[3]
