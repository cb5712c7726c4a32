"""What the search gateway refuses, and how it says so; what looks odd and is answered."""

import pytest

from beamtrawl.search.answers.cursor import Cursor, encode
from beamtrawl.search.gateway.app import create_app
from tests.support.corpus import indexed

# Stated here and not imported: a changed limit fails a test.
MAX_QUERY = 300
MAX_FORM_BYTES = 64 << 10

ROWS = [{"url": f"http://a.test/{n}", "text": "common words"} for n in range(3)]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    return create_app(indexed(tmp_path_factory.mktemp("crawl"), ROWS)).test_client()


REFUSED = [  # query string, what the message says
    ("", "q is missing"),
    ("q=", "q is missing"),
    ("q=a&limit=0", "limit must be a whole number from 1 to 100, not '0'"),
    ("q=a&limit=101", "limit"),
    ("q=a&limit=ten", "limit"),
    ("q=a&limit=%D9%A3%D9%A3%D9%A3", "limit"),
    ("q=a&offset=-1", "offset must be a whole number from 0 to 10000, not '-1'"),
    ("q=a&offset=" + "9" * 5_000, "offset"),
    ("q=a&after=odd", "after: 'odd' is not a cursor: give the value of next of the page before."),
    ("q=a&after=", "after: '' is not a cursor"),
    (
        "q=a&after=odd&offset=1",
        "after: a cursor gives a place of its own in the order of hits: give neither offset nor",
    ),
    ("q=a&after=odd&per_host=1", "give neither offset nor per_host with it."),
    ("q=a&after=" + encode(Cursor(1.0, "http://a.test/", 1, 9), "b", "score"), "after: the cursor is of another query"),
    ("q=a&after=" + encode(Cursor(1.0, "http://a.test/", 2, 9), "a", "score"), "after: the cursor is of an index that"),
    ("q=a&sort=odd", "sort must be score or date, not 'odd'"),
    ("q=" + "a" * (MAX_QUERY + 1), f"{MAX_QUERY + 1} characters"),
]


def test_a_query_that_is_refused_stays_in_the_search_field(client):
    answer = client.get("/?q=%3Cb%3E" + "a" * MAX_QUERY)
    assert answer.status_code == 400
    assert 'value="&lt;b&gt;aaa' in answer.text


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
        ("POST", "/", {"q": "a" * MAX_FORM_BYTES}, 413),
        ("POST", "/", {"q": "a" * (MAX_FORM_BYTES - 100)}, 400),  # too long for a query alone
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


def test_the_longest_query_is_answered(client):
    query = "common " + "a" * (MAX_QUERY - 7)
    assert client.get("/api/search", query_string={"q": query}).json["total"] == len(ROWS)
