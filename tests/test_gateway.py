"""What people and programs get from the search gateway."""

import re

import pytest

from search.gateway import MAX_FORM, MAX_QUERY, create_app
from tests.corpus import commit, indexed
from transforms.crawl_dir import CrawlDir, Manifest

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


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    return create_app(indexed(tmp_path_factory.mktemp("crawl"), ROWS, ODD)).test_client()


def test_the_form_is_there_before_any_query(client):
    page = client.get("/")
    assert page.status_code == 200
    assert "29 pages can be searched" in page.text
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
    assert (page.status_code, "Nothing found" in page.text) == (200, True)


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
        9: [("prev", f"{before}3")],
    }


def test_nothing_crawled_or_asked_can_become_markup(client):
    page = client.get("/", query_string={"q": f"odd {EVIL}"}).text
    assert "<script" not in page
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
    assert "script-src" not in policy
    assert policy["style-src"] == policy["form-action"] == "'self'"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"


def test_the_page_needs_only_what_the_gateway_itself_serves(client):
    page = client.get("/?q=common").text
    for path in re.findall(r'<link [^>]*href="([^"]+)"', page):
        assert client.get(path, buffered=True).status_code == 200
    assert "<script" not in page


def test_the_api_answers_in_json(client):
    answer = client.get("/api/search?q=common&limit=3&offset=24")
    assert answer.content_type == "application/json"
    assert (answer.json["query"], answer.json["total"]) == ("common", 25)
    (hit,) = answer.json["hits"]
    assert set(hit) == {"url", "title", "snippet", "score", "host", "language", "round", "fetched_at", "published_at"}


REFUSED = [  # query string, what the message says
    ("", "q is missing"),
    ("q=", "q is missing"),
    ("q=a&limit=0", "limit must be a whole number from 1 to 100, not '0'"),
    ("q=a&limit=101", "limit"),
    ("q=a&limit=ten", "limit"),
    ("q=a&limit=%D9%A3%D9%A3%D9%A3", "limit"),
    ("q=a&offset=-1", "offset must be a whole number from 0 to 10000, not '-1'"),
    ("q=a&offset=" + "9" * 5_000, "offset"),
    ("q=" + "a" * (MAX_QUERY + 1), f"{MAX_QUERY + 1} characters"),
]


@pytest.mark.parametrize(("asked", "message"), REFUSED)
def test_the_api_refuses_what_makes_no_sense(client, asked, message):
    answer = client.get(f"/api/search?{asked}")
    assert answer.status_code == 400
    assert message in answer.json["error"]
    assert len(answer.json["error"]) < 120


@pytest.mark.parametrize(
    ("method", "path", "data", "status"),
    [
        ("GET", "/?q=a&page=0", None, 400),
        ("GET", "/?q=a&page=x", None, 400),
        ("GET", "/?q=a&page=1001", None, 400),
        ("GET", "/?q=" + "a" * (MAX_QUERY + 1), None, 400),
        ("POST", "/", {"q": "a" * MAX_FORM}, 413),
        ("DELETE", "/", None, 405),
        ("POST", "/api/search", {"q": "a"}, 405),
        ("GET", "/missing", None, 404),
        ("GET", "/api/missing", None, 404),
    ],
)
def test_other_refusals(client, method, path, data, status):
    answer = client.open(path, method=method, data=data)
    assert answer.status_code == status
    assert answer.json["error"] if path.startswith("/api/") else 'role="alert"' in answer.text


@pytest.mark.parametrize("asked", ["%00", "%ff%fe", "%ed%a0%80", "%22", "-", "site:", "%F0%9F%98%80"])
def test_odd_queries_are_answered(client, asked):
    assert client.get(f"/?q={asked}").status_code == 200
    assert client.get(f"/api/search?q={asked}").status_code == 200


def test_the_gateway_follows_the_crawl(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    crawl.commit(Manifest("seeds", 0, "", (), {}, (), "", ""))
    client = create_app(crawl).test_client()
    assert client.get("/").status_code == 503
    answer = client.get("/api/search?q=word")
    assert (answer.status_code, "no index" in answer.json["error"]) == (503, True)
    assert str(tmp_path) not in answer.text

    for round_, found in ((1, 1), (2, 2)):
        commit(crawl, round_, [{"url": f"http://a.test/{round_}", "text": "word"}])
        assert client.get("/api/search?q=word").json["total"] == found
