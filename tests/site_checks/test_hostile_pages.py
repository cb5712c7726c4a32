"""Pages that are made to make a check slow, large or wrong."""

import time
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from beamtrawl.runners.site_checks.page_facts import MAX_LABEL, MAX_REFERENCES, page_facts
from tests.support.checked_sites import crawled, found, page

A, B = "http://a.test/", "http://a.test/b"

NESTED_LINKS = "".join(f"<a href=x{n}><object>" for n in range(900))
HOSTILE = {
    "many links": "".join(f"<a href=x{n}>x</a>" for n in range(30_000)),
    "nested links": "<a href=b#x><b>" * 20_000,
    "nested headings": "<h2>a" * 2_000 + "<a href=b>x" * 2_000,
    "equal ids": "<h2 id=x>a</h2>" * 50_000,
    "deep images": "<div>" * 2_000 + "".join(f"<img src={n}>" for n in range(30_000)),
    "nested templates": "<template>" * 1_500 + "<h1>a</h1><img>" * 20_000,
    "a long fragment": f"<a href='b#{'x' * 5_000_000}'>x</a>",
    "a long label": f"<h2>{'x ' * 1_000_000}</h2><a href=b>{'y ' * 1_000_000}</a>",
    "a long label of nested headings": f"{'<h1><div>' * 900}{'word ' * 100_000}",
    "a long label of nested links": f"{NESTED_LINKS}{'word ' * 100_000}",
    "a long alternative text of nested links": f"{NESTED_LINKS}<img alt='{'word ' * 100_000}'>",
    "a set of images": f"<img alt='' srcset='{','.join(f'i{n} {n}x' for n in range(50_000))}'>",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_page_takes_bounded_time_and_gives_bounded_facts(name: str) -> None:
    body = HOSTILE[name].encode()
    started = time.process_time()
    facts = page_facts(body, A, "text/html", (), "bot")
    assert time.process_time() - started < 5  # each takes a second at most on a quiet machine
    assert len(facts.references) <= MAX_REFERENCES
    assert all(len(label) <= MAX_LABEL for one in facts.references for label in (one.anchor, one.section))
    assert not (facts.is_whole and len(facts.references) == MAX_REFERENCES)


@settings(max_examples=40)
@given(st.binary(max_size=300), st.text(max_size=30))
def test_any_bytes_are_a_page(body: bytes, attribute: str) -> None:
    html = f"<h1 id='{attribute}'>x</h1><a href='#{attribute}'>y</a><img src='{attribute}'>".encode("utf-8", "replace")
    page_facts(body + html, A, "text/html", (("Link", attribute),), "bot")


def test_many_fragments_of_a_page_with_many_ids(tmp_path: Path) -> None:
    links = "".join(f"<a href=b#i{n}>x</a>" for n in range(2_000))
    crawl = crawled(tmp_path, {A: page("A", links), B: page("B", "".join(f"<p id=i{n}>" for n in range(1, 5_000)))})
    started = time.process_time()
    assert found(crawl) == [("fragment", A, f"{B}#i0")]
    assert time.process_time() - started < 10


def test_values_of_pages_are_values_in_queries(tmp_path: Path) -> None:
    title = 'It\'s "so"; DROP TABLE pages --'
    quoted = "<a href=\"b#'x'--\">'y'; --</a>"
    assert found(crawled(tmp_path, {A: page(title, quoted), B: page(title)})) == [
        ("fragment", A, f"{B}#'x'--"),
        ("same_title", A, B),
        ("same_title", B, A),
    ]
