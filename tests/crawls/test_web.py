"""The scripted web keeps its promises: pages as written, hosts linked, requests recorded as they came."""

import contextlib
import http.client
import threading
import time
from email.utils import parsedate_to_datetime

import pytest

from tests.support.web import (
    CLOSED,
    MUTE,
    OTHERWISE,
    Answer,
    Overload,
    Web,
    html,
    overloaded,
    plain,
    redirect,
    slow,
    status,
)
from tests.support.web_process import WebProcess


def ask(web: Web, *paths: str, host: str = "a.test", method: str = "GET", **headers: str):
    """The answers to requests on one connection: (status, body, headers)."""
    connection = http.client.HTTPConnection(web.authority(host), timeout=60)
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
    assert 0 <= root.wall - wall < 60
    assert root.connection == slow_.connection != other.connection


def test_a_request_that_its_client_gave_up_ends_then():
    with Web({"a.test": {"/": slow(60), "/next": "<p>hi"}}) as web:
        client = http.client.HTTPConnection(web.authority("a.test"))
        client.request("GET", "/")
        client.close()
        ask(web, "/next")
    requests = {r.path: r for r in web.requests}
    assert requests["/"].status == 0
    assert requests["/"].ended - requests["/"].started < 50


def test_closing_ends_open_connections():
    with Web({"a.test": {"/": slow(60), "/idle": "<p>hi"}}) as web:
        idle, waiting = (http.client.HTTPConnection(web.authority("a.test"), timeout=60) for _ in range(2))
        idle.request("GET", "/idle")
        assert idle.getresponse().read() == b"<p>hi"
        waiting.request("GET", "/")
    with contextlib.closing(idle), contextlib.closing(waiting), pytest.raises(ConnectionResetError):
        waiting.getresponse()


def test_what_a_site_does_not_list():
    with Web({"a.test": {"/": "<p>hi", OTHERWISE: status(418)}}) as web:
        assert [s for s, _, _ in ask(web, "/other", "/")] == [418, 200]


def test_dead_hosts():
    with Web({"closed.test": CLOSED, "mute.test": MUTE}) as web:
        with pytest.raises(ConnectionRefusedError):
            ask(web, "/", host="closed.test")
        client = http.client.HTTPConnection(web.authority("mute.test"), timeout=0.05)
        client.request("GET", "/robots.txt")
        with contextlib.closing(client), pytest.raises(TimeoutError):
            client.getresponse()


# name: (the form of Retry-After, what a host that is to be left alone for 100 s says)
FORMS = {
    "seconds": (False, lambda value: int(value) == 100),
    "a date": (True, lambda value: 40 <= until(value) <= 101),
}


def until(date: str) -> float:
    """Seconds until a date of HTTP."""
    return parsedate_to_datetime(date).timestamp() - time.time()


@pytest.mark.parametrize(("as_date", "right"), FORMS.values(), ids=FORMS)
def test_an_overloaded_host_says_when_it_will_be_over(as_date, right):
    site = overloaded(Overload(after=2, seconds=100, as_date=as_date), {"/": "<p>hi", "/x": "<p>x"})
    with Web({"a.test": site}) as web:
        answers = ask(web, "/", "/x", "/", "/x", "/missing")
        last = web.requests[-2]
    assert [code for code, _, _ in answers] == [200, 200, 429, 429, 404]
    assert right(answers[2][2]["Retry-After"])
    assert last.answered["retry-after"] == answers[3][2]["Retry-After"]


def test_an_overload_is_over_once():
    site = overloaded(Overload(after=1, seconds=0, code=503), {"/": "<p>hi"})
    with Web({"a.test": site}) as web:
        assert [code for code, _, _ in ask(web, "/", "/", "/")] == [200, 200, 200]
    running = Overload(after=0, seconds=100, code=503)
    assert running.answer("<p>hi", {}).status == 503
    running.over -= 100
    assert running.answer("<p>hi", {}) == running.answer("<p>hi", {}) == Answer(body=b"<p>hi")


def test_hosts_may_share_an_address():
    names = ["a.test", "b.test", "c.test"]
    with Web({name: {"/": name} for name in names}, addresses=dict.fromkeys(names[:2], "127.1.2.3")) as web:
        assert [web.authority(name).split(":")[0] for name in names] == ["127.1.2.3", "127.1.2.3", "127.0.0.3"]
        assert [ask(web, "/", host=name)[0][1].decode() for name in names] == names


def test_hosts_by_name():
    with Web({"a.test": {"/": "http://a.test/x"}}, by_name=True) as web:
        name, port, address = web.pins[0].split(":")
        assert (name, address, web.url("a.test")) == ("a.test", "127.0.0.1", f"http://a.test:{port}/")
        client = http.client.HTTPConnection(address, int(port), timeout=60)
        client.request("GET", "/")
        assert client.getresponse().read().decode() == web.url("a.test", "/x")
        client.close()


def test_a_web_in_a_process_of_its_own():
    sites = {
        "a.test": overloaded(Overload(after=1, seconds=100), {"/": "<p>hi"}),
        "b.test": {"/": redirect("//a.test/")},
    }
    with WebProcess(sites, addresses={"b.test": "127.1.2.3"}) as web:
        before = time.monotonic()
        assert [code for code, _, _ in ask(web, "/", "/")] == [200, 429]
        (first, second), after = web.requests, time.monotonic()
        assert ask(web, "/", host="b.test")[0][2]["Location"] == f"//{web.authority('a.test')}/"
        assert web.pins[1] == web.authority("b.test").replace("127.1.2.3", "b.test") + ":127.1.2.3"
    assert before <= first.started <= first.ended <= second.started <= second.ended <= after  # one clock for both
    assert [(r.host, r.status) for r in web.requests] == [("a.test", 200), ("a.test", 429), ("b.test", 302)]
    assert web.lag > 0.0


@pytest.mark.parametrize("kind", [Web, WebProcess])
def test_three_hundred_hosts_answer_at_once(kind):
    names = [f"h{n}.test" for n in range(300)]
    with kind({name: {"/": f"<p>{name}"} for name in names}) as web:
        bodies: dict[str, bytes] = {}
        threads = [threading.Thread(target=lambda n=n: bodies.update({n: ask(web, "/", host=n)[0][1]})) for n in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert bodies == {name: f"<p>{name}".encode() for name in names}
        assert len(web.requests) == 300
