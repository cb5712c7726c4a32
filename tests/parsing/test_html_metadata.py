"""A page states facts about itself, and what it asks of robots."""

import doctest
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from beamtrawl.transforms.parsing import dates, robots_meta
from beamtrawl.transforms.parsing.html_page import Page, parse_page
from beamtrawl.transforms.parsing.robots_meta import Directives
from tests.support.tables import each_row

URL = "http://a.org/dir/page.html"


def page(html: str, headers: Sequence[tuple[str, str]] = (), robot: str = "Our-Bot/1.0") -> Page:
    parsed = parse_page(html.encode(), URL, "text/html", headers, robot)
    assert parsed is not None
    return parsed


FACTS = {
    "title": ("<title> The\n title </title><h1>other</h1>", "title", "The title"),
    "no title": ("<svg><title>icon</title></svg><h1>other</h1>", "title", "other"),
    "an icon's title": ("<body><svg><title>icon</title></svg><title>late</title>", "title", "late"),
    "a long title": (f"<title>{'x' * 3000}</title>", "title", "x" * 2000),
    "description": (
        "<meta name=Description content='a  b'><meta property=og:description content=c>",
        "description",
        "a b",
    ),
    "a description for sharing": (
        "<meta name=description content=' '><meta property=og:description content=c>",
        "description",
        "c",
    ),
    "a title for sharing": ("<meta property=og:title content=a><h1>b</h1>", "title", "a"),
    "a description in Dublin Core": ("<meta name=DC.Description content=a>", "description", "a"),
    "keywords of news": ("<meta name=keywords content=''><meta name=news_keywords content=a>", "keywords", "a"),
    "keywords one by one": (
        "<meta property=article:tag content=a><meta property=article:tag content=b>",
        "keywords",
        "a, b",
    ),
    "keywords, none": ("<p>a", "keywords", ""),
    "keywords": ("<meta name=keywords content='a, b'>", "keywords", "a, b"),
    "canonical": ("<link rel='Canonical' href='/x?#y'>", "canonical_url", "http://a.org/x"),
    "canonical, itself": ("<link rel=canonical href=page.html>", "canonical_url", URL),
    "canonical, unusable": (
        "<link rel=canonical href='http://['><link rel=canonical href=b>",
        "canonical_url",
        "http://a.org/dir/b",
    ),
    # Google, "5 common mistakes with rel=canonical"; GoogleChrome/lighthouse#4973
    "canonical, twice": (
        "<link rel=canonical href=/x><link rel=canonical href='/x#y'>",
        "canonical_url",
        "http://a.org/x",
    ),
    "canonical, two that differ": ("<link rel=canonical href=/x><link rel=canonical href=/y>", "canonical_url", None),
}


@each_row(FACTS)
def test_facts(html, field, value):
    assert getattr(page(html), field) == value


MARCH_5 = datetime(2024, 3, 5, tzinfo=UTC)
DATES = {
    "article": ("<meta property=article:published_time content=2024-03-05T09:00:00+09:00>", MARCH_5),
    "Dublin Core": ("<meta name=DC.date content=2024-03-05>", MARCH_5),
    "microdata": ("<meta itemprop=datePublished content=20240305>", MARCH_5),
    "the more certain one": ("<meta name=date content=1999-01-01><meta name=dc.date content=2024-03-05>", MARCH_5),
    "as in mail": ("<meta name=date content='Mon, 04 Mar 2024 19:00:00 -0500'>", MARCH_5),
    "time": ("<time>1999-01-01</time><time pubdate datetime=2024-03-05T00:00Z>yesterday</time>", MARCH_5),
    "a citation": ("<meta name=citation_date content=2024/3/5>", MARCH_5),
    "a day in words": ("<meta name=date content='5 March 2024'>", MARCH_5),
    "a month in words": ("<meta name=date content='Mar. 5, 2024'>", MARCH_5),
    "JSON-LD": (
        '<script type="application/ld+json">{"@graph": [{"datePublished" : "2024-03-05T00:00\\u002B0000"}]}</script>',
        MARCH_5,
    ),
    "JSON-LD, broken": ('<script type=application/ld+json>{,\'a\',"datePublished":"2024-03-05"</script>', MARCH_5),
    "JSON-LD, not a string": (r'<script type=application/ld+json>"datePublished":"\x"</script>', None),
    "other scripts": ('<script>{"datePublished":"2024-03-05"}</script>', None),
    "meta before JSON-LD": (
        '<script type=application/ld+json>{"datePublished":"1999-01-01"}</script><meta name=date content=2024-03-05>',
        MARCH_5,
    ),
    "a microformat": ("<time datetime=1999-01-01></time><time class='x dt-published'>2024-03-05</time>", MARCH_5),
    # adbar/htmldate, tests/eval: Blogger, Drupal, and pages of newspapers
    "hAtom": ("<abbr class=published title=2024-03-05T00:00:00Z>Tuesday</abbr><time>1999-01-01</time>", MARCH_5),
    "an abbreviation": ("<abbr title=2024-03-05>Tuesday</abbr>", None),
    "microdata, in content": ("<span itemprop=datePublished content=2024-03-05>Tuesday</span>", MARCH_5),
    "microdata, in datetime": ("<div itemprop=datePublished datetime='2024-03-05 00:00:00'>Tuesday</div>", MARCH_5),
    "microdata, in text": ("<p itemprop=datePublished>5. März 2024</p>", MARCH_5),
    "microdata of a comment": ("<div class=comments><p itemprop=datePublished>2024-03-05</div>", None),
    "RDFa of Drupal": ("<span property=schema:dateCreated content=2024-03-05></span>", MARCH_5),
    "Open Graph of an article": ("<meta property=og:article:published_time content=2024-03-05>", MARCH_5),
    "the only time": ("<time datetime=2024-03-05>yesterday</time>", MARCH_5),
    "one time twice": ("<time datetime=2024-03-05></time><time>2024-03-05</time>", MARCH_5),
    "two times": ("<time>2024-03-05</time><time>2024-03-06</time>", None),
    "nonsense, then sense": ("<meta name=dc.date content=soon><meta name=date content=2024-03-05>", MARCH_5),
    "nonsense": ("<meta name=date content='31 February 2024'>", None),
    "beyond bounds": ("<meta name=date content=0001-01-01T00:00:00+23:59>", None),
    "too long": (f"<meta name=date content='{'2' * 100}'>", None),
    "none": ("<p>2024-03-05", None),
}


@each_row(DATES)
def test_published_at(html, moment):
    assert page(html).published_at == moment


DIRECTIVES = {
    "none given": ("<p>x", [], Directives()),
    "meta": ("<META NAME=Robots CONTENT='NoIndex,nofollow'>", [], Directives(noindex=True, nofollow=True)),
    "late in the page": ("<p>x<meta name=robots content=noindex>", [], Directives(noindex=True)),
    "none": ("<meta name=robots content=none>", [], Directives(noindex=True, nofollow=True)),
    "all": ("<meta name=robots content='all, index, follow'>", [], Directives()),
    "ours": ("<meta name=our-bot content=noarchive>", [], Directives(noarchive=True)),
    "another's": ("<meta name=googlebot content=noindex>", [], Directives()),
    "the stricter holds": (
        "<meta name=robots content=noindex><meta name=our-bot content='index, noarchive'>",
        [],
        Directives(noindex=True, noarchive=True),
    ),
    "header": ("<p>x", [("x-robots-tag", "NOINDEX")], Directives(noindex=True)),
    "header and meta": ("<meta name=robots content=nofollow>", [("X-Robots-Tag", "noindex")], Directives(True, True)),
    "a header for us": ("<p>x", [("X-Robots-Tag", "our-bot: noindex, nofollow")], Directives(True, True)),
    "a header for another": ("<p>x", [("X-Robots-Tag", "otherbot: noindex, nofollow")], Directives()),
    "a header for both": ("<p>x", [("X-Robots-Tag", "otherbot: none, our-bot: noarchive")], Directives(noarchive=True)),
    "a directive with a value": (
        "<p>x",
        [("X-Robots-Tag", "unavailable_after: 25 Jun 2010 15:00:00 PST, noindex")],
        Directives(noindex=True, unavailable_after=datetime(2010, 6, 25, 23, tzinfo=UTC)),
    ),
    "a date with a comma": (
        "<p>x",
        [("X-Robots-Tag", "unavailable_after: Friday, 25-Jun-10 15:00:00 GMT, otherbot: noindex")],
        Directives(unavailable_after=datetime(2010, 6, 25, 15, tzinfo=UTC)),
    ),
    "a date for another": ("<p>x", [("X-Robots-Tag", "otherbot: unavailable_after: 2020-01-01")], Directives()),
    "the earlier date": (
        "<meta name=robots content='unavailable_after: 2020-09-21'><meta name=robots content='Unavailable_After:2019'>",
        [("X-Robots-Tag", "our-bot: unavailable_after: 2019-01-02T03:04:05+01:00")],
        Directives(unavailable_after=datetime(2019, 1, 2, 2, 4, 5, tzinfo=UTC)),
    ),
    "no date": ("<meta name=robots content='unavailable_after: soon, noarchive'>", [], Directives(noarchive=True)),
    # developers.google.com/search/docs, "Robots meta tag": none is a value of it, too.
    "no preview of images": ("<meta name=robots content='index, max-image-preview: none'>", [], Directives()),
    "the same in a header": (
        "<p>x",
        [("X-Robots-Tag", "max-image-preview:none, noarchive")],
        Directives(noarchive=True),
    ),
    "other separators": ("<meta name=robots content='noindex/noarchive，nofollow'>", [], Directives(True, True, True)),
    "no snippet": ("<meta name=robots content=NOSNIPPET>", [], Directives(max_snippet=0)),
    "a short snippet": ("<meta name=robots content='max-snippet:20'>", [], Directives(max_snippet=20)),
    "a snippet of any length": ("<meta name=robots content='max-snippet: -1'>", [], Directives()),
    "the shorter snippet": (
        "<meta name=robots content='max-snippet:20, max-image-preview:large'>",
        [("X-Robots-Tag", "max-snippet: 30"), ("X-Robots-Tag", "our-bot: max-snippet:10, otherbot: nosnippet")],
        Directives(max_snippet=10),
    ),
    "no snippet rather than a short one": (
        "<meta name=robots content='max-snippet:20, nosnippet'>",
        [],
        Directives(max_snippet=0),
    ),
}


@each_row(DIRECTIVES)
def test_directives(html, headers, expected):
    parsed = page(html, headers=headers)
    found = (parsed.noindex, parsed.nofollow, parsed.noarchive, parsed.max_snippet, parsed.unavailable_after)
    assert found == expected[:5]


@pytest.mark.parametrize("content", ["noarchive", "nosnippet", "max-snippet:9", "unavailable_after: 2099-01-01"])
def test_a_page_that_changes_what_results_may_show_has_another_digest(content):
    text = "<p>" + "The harbour opens at nine. " * 9
    assert page(f"<meta name=robots content='{content}'>{text}").digest != page(text).digest
    assert page(f"<meta name=robots content=nofollow>{text}").digest == page(text).digest


def test_a_robot_without_a_name_is_nobody():
    assert not page("<meta name='' content=none>", robot="").noindex


def test_examples_in_docstrings():
    assert doctest.testmod(dates) == (0, 3)
    assert doctest.testmod(robots_meta) == (0, 2)
