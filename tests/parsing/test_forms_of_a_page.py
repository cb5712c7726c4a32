"""One page in sixty forms that browsers read alike: its text, its heading and its link are found, and nothing else.

By the parsing rules of the HTML standard (13.1.2.4, optional tags; 13.2.6, tree construction): which tags may be
missing, and what becomes of those in wrong places. `innerText` of headless Chromium 156 has the heading and the prose
of each form, but for what a closed `details` shows when it is opened.
"""

from pathlib import Path

import pytest

from beamtrawl.transforms.parsing.html_page import parse_page
from tests.support.crawls import crawl, rows
from tests.support.web import Answer, Web

URL = "http://a.test/d/form.html"
HEADING, PROSE, LINK = "<h1>Harbour</h1>", "<p>The quokka sleeps at the quay.</p>", "<a href='/next'>on</a>"
PAGE = f"{HEADING}{PROSE}{LINK}"
FIRST = ("main", "article", "section", "header", "figure", "hgroup", "details", "search", "x-app", "app-root", "center")

WORDS = [
    f"{one}{other}"
    for one in ("wal", "ok", "tap", "lem", "zeb", "gib", "wom", "kin")
    for other in ("rus", "api", "ir", "ur", "ra", "bon", "bat", "kajou", "mole")
]

FORMS = {
    "all tags": f"<!doctype html><html><head><title>T</title></head><body>{PAGE}</body></html>",
    **{f"{tag} first": f"<!doctype html><title>T</title><{tag}>{HEADING}</{tag}>{PROSE}{LINK}" for tag in FIRST},
    **{f"{tag} around it": f"<!doctype html><title>T</title><{tag}>{PAGE}</{tag}>" for tag in FIRST if tag != "header"},
    **{
        f"main after {name}": f"<!doctype html><title>T</title>{before}<main>{PAGE}</main>"
        for name, before in {
            "a charset": "<meta charset=utf-8>",
            "a link": "<link rel=stylesheet href=data:,>",
            "a script": "<script>var a = '<h1>no</h1>';</script>",
            "a style": "<style>h1 > a { }</style>",
            "a comment": "<!-- <body> -->",
            "a base": "<base href=/d/>",
            "a noscript": "<noscript><style>a{}</style></noscript>",
            "a template": "<template><h1>no</h1><a href=/invented>no</a></template>",
            "text": "Quay ",
        }.items()
    },
    "a byte order mark": f"\ufeff<!doctype html><title>T</title><main>{PAGE}</main>",
    "CR as line ends": f"<!doctype html>\r<title>T</title>\r<main>\r{HEADING}\r{PROSE}\r{LINK}\r</main>",
    "no doctype": f"<title>T</title><main>{PAGE}</main>",
    "no title": f"<!doctype html><main>{PAGE}</main>",
    "upper case": PAGE.replace("h1", "H1").replace("<p", "<P").replace("<a href", "<A HREF").replace("</a", "</A"),
    "no head": f"<!doctype html><html><body><title>T</title>{PAGE}</body></html>",
    "no html": f"<!doctype html><head><title>T</title></head><body>{PAGE}</body>",
    "no end tags": "<!doctype html><html><head><title>T</title><body><h1>Harbour</h1><p>The quokka sleeps at the quay."
    "<p><a href=/next>on",
    "a head that is not closed": f"<html><head><title>T</title><body>{PAGE}</body></html>",
    "a body in the head": f"<html><head><title>T</title><main>{HEADING}</main></head><body>{PROSE}{LINK}</body></html>",
    "an end of the head too early": f"<html><head></head><title>T</title><body>{PAGE}</body></html>",
    "after the end of the body": f"<html><head><title>T</title></head><body>{HEADING}</body>{PROSE}{LINK}</html>",
    "after the end of the page": f"<html><head><title>T</title></head><body>{HEADING}{PROSE}</body></html>{LINK}",
    "after an end of the page in an include": f"<title>T</title>{HEADING}</html>{PROSE}</body></html>{LINK}",
    "a second page": f"<html><body>{HEADING}{PROSE}</body></html><html><head></head><body>{LINK}</body></html>",
    "a second doctype": f"<!doctype html>{HEADING}{PROSE}<!doctype html>{LINK}",
    "a second body": f"<body>{HEADING}<body class=x>{PROSE}{LINK}",
    "a second html": f"<html>{HEADING}<html lang=en>{PROSE}{LINK}",
    "end tags of nothing": f"</div></main></p></body></br>{HEADING}</section>{PROSE}</a>{LINK}",
    "a frameset that is ignored": f"{PAGE}<frameset><frame src=/invented></frameset>",
    "a table that is not closed": f"{HEADING}{PROSE}<table><tr><td>{LINK}",
    "in a table, and beside its cells": f"<table>{HEADING}<tr>{PROSE}<td>{LINK}</table>",
    "emphasis that is not closed": f"<b><i>{HEADING}{PROSE}</b>{LINK}",
    "a form around it": f"<form>{PAGE}",
    "attributes twice": f"<body class=a class=b id=x/>{HEADING}{PROSE}<a href=/next href=/invented>on</a>",
    "a slash in the tag": f"<main/>{HEADING}<br/>{PROSE}<a href='/next'/>on</a>",
    "a comment that ends wrongly": f"<!-- a --!>{PAGE}",
    "a comment without an end before": f"<!-->{PAGE}<!-- <a href=/invented>no</a>",
    "an instruction": f"<?xml version='1.0'?>{PAGE}<?php echo '<a href=/invented>' ?>",
    "a CDATA section": f"{PAGE}<![CDATA[ x ]]>",
    "a null character": f"<main>\0{HEADING}{PROSE}{LINK}",
    "SVG before it": f"<svg><title>no</title><desc>no</desc></svg>{PAGE}",
    "a break out of SVG": f"<svg><g>{HEADING}{PROSE}{LINK}",
    "MathML before it": f"<math><mi>x</mi>{HEADING}{PROSE}{LINK}",
    "a paragraph around blocks": f"<p>{HEADING}{PROSE}{LINK}</p>",
    "a link before the link": f"{HEADING}{PROSE}<a name=x>{LINK}",
    "script data with a comment": f"<script><!-- </script>{PAGE}<!-- <script> --></script>",
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_each_form_is_read_as_the_same_page(form: str) -> None:
    page = parse_page(form.encode(), URL, "text/html; charset=utf-8", [], "x")
    assert page is not None
    assert page.headings == ["Harbour"]
    assert "The quokka sleeps at the quay." in page.text
    assert [link.url for link in page.links if link.kind != "link"] == ["http://a.test/next"]
    assert "no" not in page.text.split()


def test_there_are_sixty() -> None:
    assert len(FORMS) >= 60


@pytest.mark.slow("whole crawls")
def test_a_crawl_finds_all_of_them(tmp_path: Path) -> None:
    pages = {
        f"/{number}": Answer(body=form.replace("/next", f"/next/{number}").replace("quokka", WORDS[number]).encode())
        for number, form in enumerate(FORMS.values())
    }
    links = "".join(f"<a href={path}>{path}</a>" for path in pages)
    targets = {
        f"/next/{number}": f"<title>Target</title><p>Page {number} of the targets." for number in range(len(FORMS))
    }
    with Web({"a.test": {"/": f"<title>All</title>{links}", **pages, **targets}}) as web:
        crawl(tmp_path, [web.url("a.test")], rounds=4)
        asked = {request.path for request in web.requests} - {"/robots.txt"}
    assert {"/", *pages, *targets} <= asked
    assert not any("invented" in path for path in asked)
    found = {row["url"].rpartition("/")[2]: row for row in rows(tmp_path, "documents")}
    assert all(
        row["headings"] == ["Harbour"] for number, row in found.items() if f"/{number}" in pages and row["headings"]
    )
