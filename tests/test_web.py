"""The scripted web keeps its promises: pages as written, hosts linked, requests recorded as they came."""

import contextlib
import http.client
import threading
import time

import pytest

from tests.web import Answer, Web, html, plain, redirect, slow, status


def ask(web: Web, *paths: str, host: str = "a.test", method: str = "GET", **headers: str):
    """The answers to requests on one connection: (status, body, headers)."""
    connection = http.client.HTTPConnection(web.authority(host), timeout=10)
    answers = []
    for path in paths:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        answers.append((response.status, response.read(), response.headers))
    connection.close()
    return answers


ANSWERS = {
    "a string is HTML": ("<p>hi", 200, b"<p>hi"),
    "html escapes": (
        html("A & B", "x < y", ["/?a=1&b=2"]),
        200,
        b"<!doctype html><title>A &amp; B</title><h1>A &amp; B</h1><p>x &lt; y</p>"
        b'<ul><li><a href="/?a=1&amp;b=2">/?a=1&amp;b=2</a></ul>',
    ),
    "plain": (plain("User-agent: *"), 200, b"User-agent: *"),
    "a status": (status(503), 503, b""),
    "an unknown status": (status(299), 299, b""),
    "a function of the headers": (lambda headers: plain(headers["x-word"]), 200, b"word"),
    "an empty body": (Answer(), 200, b""),
    "a large body": ("x" * 5_000_000, 200, b"x" * 5_000_000),
}


@pytest.mark.parametrize(("page", "code", "body"), ANSWERS.values(), ids=ANSWERS)
def test_a_page_is_answered_as_it_is_written(page, code, body):
    with Web({"a.test": {"/p?q=1": page}}) as web:
        assert [(s, b) for s, b, _ in ask(web, "/p?q=1", "/p?q=1", **{"X-Word": "word"})] == [(code, body)] * 2


def test_an_unknown_path_is_not_found():
    with Web({"a.test": {"/": "<p>hi"}}) as web:
        assert [s for s, _, _ in ask(web, "/other", "/?q", "/")] == [404, 404, 200]


def test_headers_of_an_answer():
    pages = {"/r": redirect("/x", 301), "/s": status(503, Retry_After="5"), "/h": "<p>hi", "/t": plain("t")}
    with Web({"a.test": pages}) as web:
        r, s, h, t = (headers for _, _, headers in ask(web, "/r", "/s", "/h", "/t"))
    assert r["Location"] == "/x"
    assert s["Retry-After"] == "5"
    assert h["Content-Type"] == "text/html; charset=utf-8"
    assert t["Content-Type"] == "text/plain; charset=utf-8"


def test_head_gives_the_length_and_no_body():
    with Web({"a.test": {"/": "<p>hi"}}) as web:
        ((code, body, headers),) = ask(web, "/", method="HEAD")
    assert (code, body, headers["Content-Length"]) == (200, b"", "5")


@pytest.mark.parametrize("one_address", [False, True])
def test_hosts_link_to_each_other_by_name(one_address):
    names = "http://b.test/x //b.test http://b.test.example/ http://bb.test/ b.test"
    sites = {"a.test": {"/": names, "/r": redirect("http://b.test/x")}, "b.test": {"/x": "<p>é"}}
    with Web(sites, one_address=one_address) as web:
        b = web.authority("b.test")
        (_, body, _), (_, _, headers) = ask(web, "/", "/r")
        assert body.decode() == f"http://{b}/x //{b} http://b.test.example/ http://bb.test/ b.test"
        assert headers["Location"] == web.url("b.test", "/x") == f"http://{b}/x"
        assert ask(web, "/x", host="b.test")[0][1].decode() == "<p>é"
        addresses = [web.authority(name).split(":")[0] for name in sites]
        assert addresses == (["127.0.0.1"] * 2 if one_address else ["127.0.0.1", "127.0.0.2"])


def test_requests_are_recorded_in_order_with_their_times():
    before, wall = time.monotonic(), time.time()
    with Web({"a.test": {"/": "<p>hi", "/slow": slow(0.05)}, "b.test": {"/": "<p>hi"}}) as web:
        ask(web, "/", "/slow", **{"User-Agent": "test/1"})
        ask(web, "/", host="b.test")
        root, slow_, other = web.requests
    assert [(r.host, r.method, r.path, r.status) for r in (root, slow_, other)] == [
        ("a.test", "GET", "/", 200),
        ("a.test", "GET", "/slow", 200),
        ("b.test", "GET", "/", 200),
    ]
    assert root.headers["user-agent"] == "test/1"
    assert before <= root.started <= root.ended < slow_.started < slow_.ended < other.started
    assert slow_.ended - slow_.started >= 0.05
    assert 0 <= root.wall - wall < 5
    assert root.connection == slow_.connection != other.connection


def test_a_request_that_its_client_gave_up_ends_then():
    with Web({"a.test": {"/": slow(60), "/next": "<p>hi"}}) as web:
        client = http.client.HTTPConnection(web.authority("a.test"))
        client.request("GET", "/")
        client.close()
        ask(web, "/next")
    requests = {r.path: r for r in web.requests}
    assert requests["/"].status == 0
    assert requests["/"].ended - requests["/"].started < 5


def test_closing_ends_open_connections():
    with Web({"a.test": {"/": slow(60), "/idle": "<p>hi"}}) as web:
        idle, waiting = (http.client.HTTPConnection(web.authority("a.test"), timeout=10) for _ in range(2))
        idle.request("GET", "/idle")
        assert idle.getresponse().read() == b"<p>hi"
        waiting.request("GET", "/")
    with contextlib.closing(idle), contextlib.closing(waiting), pytest.raises(ConnectionResetError):
        waiting.getresponse()


def test_three_hundred_hosts_answer_at_once():
    names = [f"h{n}.test" for n in range(300)]
    with Web({name: {"/": f"<p>{name}"} for name in names}) as web:
        bodies: dict[str, bytes] = {}
        threads = [threading.Thread(target=lambda n=n: bodies.update({n: ask(web, "/", host=n)[0][1]})) for n in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert bodies == {name: f"<p>{name}".encode() for name in names}
        assert len(web.requests) == 300
