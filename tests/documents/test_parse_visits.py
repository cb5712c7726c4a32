"""What the visits of a round mean, before anything is compared with earlier rounds."""

from collections import Counter, defaultdict
from datetime import UTC, datetime

import pytest

from beamtrawl.transforms.batches.batch_schemas import NOT_FOLLOWED
from beamtrawl.transforms.documents.found_links import links_column
from beamtrawl.transforms.documents.parse_visits import (
    ParseFn,
    Taken,
    fact_row,
    page_row,
    parse_batch,
    parse_visit,
    respelled,
    row_groups,
)
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.parsing.crawl_scope import CrawlScope
from beamtrawl.transforms.parsing.html_links import Link
from beamtrawl.transforms.settings import Documents, Scope
from beamtrawl.transforms.tables.batches import read_ipc
from beamtrawl.transforms.tables.table_files import TableWriter
from beamtrawl.transforms.urls.canonical import url_key
from beamtrawl.transforms.urls.filters import UrlFilter
from tests.support.tables import each_row

URL = "http://a.test/dir/page"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HTML = b"<title>T</title><p>Text<a href=next>on</a><a rel=nofollow href=never>no</a><img src=/i.png>"


def visit(outcome=Outcome.FETCHED, **more):
    row = {"url_key": url_key(URL), "url": URL, "host": "a.test", "round": 2, "fetched_at": NOW, "status": 200}
    row |= {"outcome": outcome.value, "redirect_to": None, "media_type": "text/html", "headers": [], "body": HTML}
    row |= {"body_bytes": len(HTML), "elapsed_ms": 5.0, "depth": 1, "redirects": 0, "priority": 0.5, "referrer": None}
    return row | {"attempt": 1, "discovered_round": 1, "kind": None} | more


# links found by a visit: (its URL's path, kind)
FOUND = {
    "a page": ({}, [("/dir/next", "a"), ("/dir/never", "a"), ("/i.png", "img")]),
    "an error page": ({"outcome": Outcome.GONE, "status": 404}, []),
    "a redirect": (
        {"outcome": Outcome.REDIRECTED, "status": 301, "redirect_to": "http://a.test/new", "body": b""},
        [("/new", "redirect")],
    ),
    "a Refresh header": (
        {"body": b"", "headers": [{"name": "Refresh", "value": "0; url=/fresh"}]},
        [("/fresh", "redirect")],
    ),
    "a Refresh header that reloads": ({"body": b"", "headers": [{"name": "refresh", "value": "5"}]}, []),
    "a sitemap, which is read apart": (
        {"kind": "sitemap", "outcome": Outcome.REDIRECTED, "redirect_to": "http://a.test/"},
        [],
    ),
    "nothing that is parsed": ({"media_type": "application/pdf"}, []),
}


@each_row(FOUND)
def test_the_links_of_a_visit(more, found):
    _, links = parse_visit(visit(**more), "Beamtrawl")
    assert [(link.url.removeprefix("http://a.test"), link.kind) for link in links] == found


@pytest.mark.parametrize(("date", "noindex"), [("2026-11-20", True), ("2026-11-20T12:00:01", False), ("soon", False)])
def test_a_page_past_its_last_day_is_not_indexed(date, noindex):
    headers = [{"name": "X-Robots-Tag", "value": f"unavailable_after: {date}"}]
    page, _ = parse_visit(visit(headers=headers), "Beamtrawl")
    assert page.noindex == noindex


def test_a_batch_of_visits_is_evidence_of_boilerplate():
    menu = "<p>Home<p>Harbours<p>Boats"
    visits = [
        visit(url=f"http://a.test/{number}", body=f"{menu}<h1>Page {number}</h1><p>{'word ' * (20 + number)}".encode())
        for number in range(8)
    ]
    visits.insert(3, visit(Outcome.GONE))
    alone = [parse_visit(each, "Beamtrawl")[0] for each in visits]
    found = list(parse_batch(visits, "Beamtrawl"))
    assert [each for each, _, _ in found] == visits and found[3][1:] == (None, [])
    pages = [page for _, page, _ in found if page]
    assert [page.text.split("\n")[0] for page in pages] == [f"Page {number}" for number in range(8)]
    assert [page.digest for page in pages] == [page.digest for page in alone if page]
    assert [page and page.text for _, page, _ in parse_batch(visits[:4], "Beamtrawl")] == [
        page and page.text for page in alone[:4]
    ]


_SPLIT = ("pages", "facts", "yields", "contents")


def parsed(root, path, numbers):
    """(batches by tag, rows by tag) of row groups."""
    scope = CrawlScope.of(str(root), Scope(mode="any"), Documents(), [])
    parse = ParseFn(scope, Taken(True, False, True), lambda _: {}, "Beamtrawl", 2, 2, 2)
    parse.setup()
    batches, rows = Counter(), defaultdict(list)
    for output in parse.process((path, numbers)):
        if output.tag in _SPLIT:
            batches[output.tag] += 1
            rows[output.tag] += [(output.value[0], repr(row)) for row in read_ipc(output.value[1]).to_pylist()]
    return batches, {tag: sorted(some) for tag, some in rows.items()}


def test_row_groups_that_are_parsed_together_have_the_same_rows_in_fewer_batches(tmp_path):
    writer = TableWriter(str(tmp_path), "visits", 2)
    for group in range(4):
        hosts = [f"{letter}{group}.test" for letter in "abcdefgh"]
        urls = [f"http://{host}/" for host in hosts]
        some = zip(urls, hosts, strict=True)
        writer.write_rows(
            [visit(url=url, url_key=url_key(url), host=host, body=HTML + url.encode()) for url, host in some]
        )
    file = writer.close()
    assert [list(numbers) for _, numbers in row_groups(file.path, str(tmp_path), 1 << 30)] == [[0, 1, 2, 3]]
    alone = list(row_groups(file.path, str(tmp_path), 0))
    assert alone == [(file.path, range(number, number + 1)) for number in range(4)]
    apart = [parsed(tmp_path, *each) for each in alone]
    batches, rows = parsed(tmp_path, file.path, range(4))
    assert rows == {tag: sorted(row for _, some in apart for row in some[tag]) for tag in rows}
    assert batches == dict.fromkeys(_SPLIT, 2)
    assert sum((each for each, _ in apart), Counter())["pages"] == 8


def test_a_batch_has_the_languages_of_its_pages():
    """Detected for all pages together, of the text with its boilerplate; a short text leaves what is declared."""
    german = "Diese Seite wurde übersetzt, und an die Angabe der Sprache hat niemand gedacht. " * 4
    bodies = [f"<html lang=en><p>{german}", "<html lang=en-GB><p>Short", f"<p>{german}"]
    visits = [visit(url=f"http://a.test/{number}", body=body.encode()) for number, body in enumerate(bodies)]
    visits.append(visit(url="http://a.test/text", body=german.encode(), media_type="text/plain"))
    found = [page for _, page, _ in parse_batch(visits, "Beamtrawl")]
    assert [page.language for page in found] == ["de", "en", "de", "de"]
    assert found == [parse_visit(each, "Beamtrawl")[0] for each in visits]


def test_a_link_is_one_deeper_and_a_redirect_is_not():
    page, links = parse_visit(visit(), "Beamtrawl")
    links = [*links, Link("http://a.test/moved", "", "", "redirect"), Link("http://b.test/", "", "", "a")]
    url_filter = UrlFilter(Scope(depth=2), frozenset({"a.test"}))
    found = (visit(redirects=3), page, links), (visit(), None, []), (visit(depth=2), page, links[:1])
    rows, nothing, deeper = links_column(found, url_filter).to_pylist()
    assert nothing == []
    assert [(row["depth"], row["rejected"]) for row in deeper] == [(3, "depth")]
    assert [(row["target_url"].split("/")[-1], row["depth"], row["redirects"], row["rejected"]) for row in rows] == [
        ("next", 2, 0, None),
        ("never", 2, 0, NOT_FOLLOWED),
        ("i.png", 2, 0, NOT_FOLLOWED),
        ("moved", 1, 4, None),
        ("", 2, 0, "scope"),
    ]
    assert rows[0]["target_key"] == deeper[0]["target_key"] == url_key("http://a.test/dir/next")


def test_a_row_of_a_page_holds_null_for_what_it_does_not_say():
    page, links = parse_visit(visit(), "Beamtrawl")
    row = page_row(visit(), page, links)
    assert (row["title"], row["description"], row["is_document"], row["outlinks"]) == ("T", None, True, 3)
    assert page_row(visit(Outcome.REDIRECTED), None, [])["is_document"] is False


def test_a_fact_keeps_what_a_revisit_needs():
    headers = [{"name": "ETag", "value": '"x"'}, {"name": "Last-Modified", "value": "yesterday"}]
    row = fact_row(visit(headers=headers), None, "Bot")
    assert (row["etag"], row["last_modified"], row["digest"]) == ('"x"', "yesterday", None)


@pytest.mark.parametrize(("redirects", "is_followed"), [(1, True), (3, True), (4, False)])
def test_three_redirects_in_a_row_to_other_spellings_of_a_url_are_followed(redirects, is_followed):
    """A site that wants cookies sends every URL to and fro for ever."""
    other = f"{URL}?PHPSESSID=0123456789abcdef0123456789abcdef"
    row = visit(Outcome.REDIRECTED, status=302, redirects=redirects - 1)
    column = links_column([(row, None, [Link(other, "", "", "redirect")])], UrlFilter(Scope(), frozenset({"a.test"})))
    found = respelled(row, column[0])
    assert found == (other if is_followed else None)
