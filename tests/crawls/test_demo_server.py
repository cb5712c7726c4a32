"""The demo's web: it is whole, it answers as servers do, and it holds what the demo shows."""

import http.client
import re
import time
from collections import Counter
from urllib.parse import quote, urljoin, urlsplit

import pytest

from beamtrawl.runners.demo.pages import Page, read_pages, render
from beamtrawl.runners.demo.server import QUERIES, SITES, demo_web

TRAP = re.compile(r"/calendar/|/album/")


@pytest.fixture(scope="module")
def web():
    with demo_web() as web:
        yield web


@pytest.fixture(scope="module")
def crawled(web):
    """Every page of the web but the traps', as (depth, status, body, links) by URL."""
    connections = {
        urlsplit(origin).netloc: http.client.HTTPConnection(urlsplit(origin).netloc, timeout=60)
        for origin in web.origins.values()
    }
    pages = {}
    level = set(web.seeds)
    for depth in range(10):
        following = set()
        for url in sorted(level - pages.keys()):
            connection = connections[urlsplit(url).netloc]
            connection.request("GET", urlsplit(url).path)
            response = connection.getresponse()
            body = response.read().decode()
            found = re.findall(r'href="([^"]*)"', body) + response.headers.get_all("Location", [])
            links = {urljoin(url, quote(link, safe="/:")) for link in found}
            pages[url] = (depth, response.status, body, links)
            following |= {link for link in links if not TRAP.search(link)}
        level = following
    for connection in connections.values():
        connection.close()
    return pages


def test_every_link_leads_somewhere_but_the_one_that_is_meant_to_be_broken(web, crawled):
    assert {url for url, (_, status, *_) in crawled.items() if status not in (200, 301)} == {
        web.origins["almanac"] + "/ferry-captains.html"
    }
    assert {url for url, (_, status, *_) in crawled.items() if status == 301} == {
        web.origins["almanac"] + "/tide-tables.html"
    }


def test_every_page_is_within_three_rounds(web, crawled):
    """The copies apart: as duplicates, their links are not followed."""
    originals = {name: site for name, site in SITES.items() if name != "mirror"}
    written = {web.origins[name] + quote(path) for name, site in originals.items() for path in site.pages}
    assert {url for url in written if url not in crawled or crawled[url][0] > 2} == set()


def test_the_originals_are_found_before_their_copies(web, crawled):
    museum, mirror = web.origins["museum"], web.origins["mirror"]
    own = {f"{mirror}/", f"{mirror}/mirrored.html"}
    copies = {url: museum + url.removeprefix(mirror) for url in crawled if url.startswith(mirror) and url not in own}
    assert len(copies) >= 6
    for copy, original in copies.items():
        assert crawled[original][2] == crawled[copy][2]
        assert crawled[original][0] < crawled[copy][0]


def test_it_is_of_a_size_worth_searching(crawled):
    texts = Counter(body for _, status, body, _ in crawled.values() if status == 200)
    assert 40 <= len(texts) <= 80
    assert sum("가" <= letter <= "힣" for text in texts for letter in text) > 1000


@pytest.mark.parametrize(("query", "path"), QUERIES)
def test_no_page_speaks_as_much_of_a_query_as_the_one_that_must_come_first(query, path, crawled):
    said = {}
    for url, (_, _, body, _) in crawled.items():
        text = re.sub(r"<[^>]*>", " ", body).lower()
        counts = [text.count(word) for word in query.split()]
        said[urlsplit(url).path] = (all(counts), sum(counts))
    everywhere_else = [count for other, count in said.items() if other != path]
    assert said[path] > max(everywhere_else)
    assert said[path][0]


def test_robots_files(web):
    def ask(name):
        connection = http.client.HTTPConnection(urlsplit(web.origins[name]).netloc, timeout=60)
        connection.request("GET", "/robots.txt")
        response = connection.getresponse()
        body = response.read().decode()
        connection.close()
        return response.status, response.headers["Content-Type"], body

    assert ask("almanac") == (
        200,
        "text/plain; charset=utf-8",
        "User-agent: *\nDisallow: /private/\nCrawl-delay: 0.1\n",
    )
    assert ask("museum")[0] == ask("port")[0] == ask("club")[0] == 200
    assert ask("mirror")[0] == 404


def test_the_page_for_no_index_says_so(web, crawled):
    marked = [url for url, (*_, body, _) in crawled.items() if '<meta name="robots" content="noindex">' in body]
    assert marked == [web.origins["almanac"] + "/drafts.html"]


@pytest.mark.parametrize(
    ("start", "link", "steps"),
    [
        ("/calendar/2026/11", "Next month", ["/calendar/2026/12", "/calendar/2027/01", "/calendar/2027/02"]),
        ("/calendar/2027/02", "previous month", ["/calendar/2027/01", "/calendar/2026/12"]),
        ("/album/", "More", ["/album/more/", "/album/more/more/", "/album/more/more/more/"]),
    ],
)
def test_the_traps_have_no_end(web, start, link, steps):
    connection = http.client.HTTPConnection(urlsplit(web.origins["club"]).netloc, timeout=60)
    path, seen = start, []
    for _ in steps:
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read().decode()
        assert response.status == 200
        path = urljoin(path, re.search(rf'href="([^"]*)">{link}<', body)[1])
        seen.append(path)
    connection.close()
    assert seen == steps


def test_connections_are_kept_and_answers_are_prompt(web):
    connection = http.client.HTTPConnection(urlsplit(web.origins["museum"]).netloc, timeout=60)
    connection.request("GET", "/")
    first = connection.getresponse()
    length = int(first.headers["Content-Length"])
    assert len(first.read()) == length
    assert first.version == 11
    kept = connection.sock
    seconds = []
    for _ in range(20):
        started = time.monotonic()
        connection.request("GET", "/species/plaice.html")
        connection.getresponse().read()
        seconds.append(time.monotonic() - started)
    assert connection.sock is kept
    assert min(seconds[10:]) < 0.035  # delayed acknowledgements add 0.04 to each, but for the first few
    connection.request("HEAD", "/")
    head = connection.getresponse()
    assert (head.read(), int(head.headers["Content-Length"])) == (b"", length)
    connection.close()


def test_the_log_is_a_value_and_nothing_is_printed(capfd):
    with demo_web() as web:
        host = urlsplit(web.origins["almanac"]).netloc
        connection = http.client.HTTPConnection(host, timeout=60)
        for path in ("/robots.txt", "/nowhere"):
            connection.request("GET", path, headers={"User-Agent": "me/1"})
            connection.getresponse().read()
        connection.close()
        assert [entry[1:] for entry in web.log] == [
            (host, "GET", "/robots.txt", 200, "me/1"),
            (host, "GET", "/nowhere", 404, "me/1"),
        ]
    assert capfd.readouterr() == ("", "")


def test_after_the_block_nobody_answers():
    with demo_web() as web:
        host = urlsplit(web.seeds[0]).netloc
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection(host, timeout=60).request("GET", "/")


def test_read_pages_and_render():
    pages = read_pages("# /a A <title>\nOne\nline & [a\nlink](/b).\n\nTwo.\n\n# /b B\n\nText.\n")
    assert pages == {
        "/a": Page("A <title>", ("One line & [a link](/b).", "Two.")),
        "/b": Page("B", ("Text.",)),
    }
    html = render(pages["/a"], "en", "Site")
    assert '<html lang="en">' in html
    assert '<h1>A &lt;title&gt;</h1>\n<p>One line &amp; <a href="/b">a link</a>.</p>\n<p>Two.</p>' in html
