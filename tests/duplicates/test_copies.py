"""No host takes a page of another from a crawl or its index; pages with the same text lead on to their own links."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from beamtrawl.search.searcher import Index
from beamtrawl.transforms.storage.crawl_dir import CrawlDir
from beamtrawl.transforms.urls import url_key
from tests.support.crawls import crawl, rows
from tests.support.web import Web

SECTIONS, PAGES = 10, 4
MOVED = "This page has moved. Please update your bookmarks and follow the link below to its new address in the archive."
INTRODUCTION = "Browse our catalogue by category. Choose from the list at the side or go back to the start of the shop."


def page(title: str, text: str, links: Iterable[str] = ()) -> str:
    """The HTML of a page whose links are no part of its text."""
    menu = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    return f"<!doctype html><title>{title}</title><nav>{menu}</nav><h1>{title}</h1><p>{text}</p>"


def words(name: str, number: int) -> str:
    """A text of its own for each page: long enough for a digest and for a signature of its words."""
    return " ".join(f"{name}{number}word{n}" for n in range(50))


def victim() -> dict:
    """Sections with pages that only they link to."""
    site = {"/": page("Victim", "All sections.", [f"/section/{n}" for n in range(SECTIONS)])}
    for n in range(SECTIONS):
        links = [f"/section/{n}/page/{m}" for m in range(PAGES)]
        site[f"/section/{n}"] = page(f"Section {n}", words("section", n), links)
        site |= {link: page(f"Page {n} {m}", words(f"page{n}x", m)) for m, link in enumerate(links)}
    return site


def copier(change: str) -> dict:
    """The same sections under shorter names, without the links."""
    site = {"/": page("Copier", "Mine, all mine.", [f"/{n}" for n in range(SECTIONS)])}
    return site | {f"/{n}": page(f"Section {n}", words("section", n) + change) for n in range(SECTIONS)}


@pytest.mark.parametrize("order", ["the copier first", "together"])
@pytest.mark.parametrize("change", ["", " edited"], ids=["copies", "near copies"])
def test_a_host_that_copies_another_takes_nothing_from_it(tmp_path: Path, order: str, change: str) -> None:
    with Web({"victim.test": victim(), "c.test": copier(change)}) as web:
        seeds = [web.url("c.test"), web.url("victim.test")]
        if order == "the copier first":
            crawl(tmp_path, seeds[:1])
            crawl(tmp_path, seeds[1:])
        else:
            crawl(tmp_path, seeds)
    documents = rows(tmp_path, "documents")
    of_victim = [row for row in documents if row["url"].startswith(seeds[1])]
    assert len(of_victim) == 1 + SECTIONS + SECTIONS * PAGES
    assert all(row["text"] for row in of_victim)
    assert {row["duplicate_of"] for row in documents} == {row["near_duplicate_of"] for row in documents} == {None}
    index = Index.open(CrawlDir(str(tmp_path)))
    for n in range(SECTIONS):
        hits = index.search(f"section{n}word7", limit=100).hits
        assert len(hits) == (1 if not change else 2)  # one of equal texts is shown, both of nearly equal ones
    if not change:
        keys = {row["url_key"]: row["url"] for row in documents}
        copies = {row["url"]: keys[row["same_content_as"]] for row in documents if row["same_content_as"]}
        pairs = [(f"{seeds[0]}{n}", f"{seeds[1]}section/{n}") for n in range(SECTIONS)]
        if order == "together":  # the first in the alphabet
            pairs = [(min(pair), max(pair)) for pair in pairs]
        assert copies == {later: first for first, later in pairs}


def test_links_of_pages_with_the_same_text_are_followed(tmp_path: Path) -> None:
    lists = {f"/old/{n}": [f"/new/{n}"] for n in range(50)}
    lists |= {f"/category/{n}": [f"/item/{n}-{m}" for m in range(10)] for n in range(20)}
    pages = {path: page("Moved", MOVED, links) for path, links in lists.items() if path.startswith("/old/")}
    pages |= {path: page("Catalogue", INTRODUCTION, links) for path, links in lists.items() if path not in pages}
    targets = [link for links in lists.values() for link in links]
    pages |= {link: page(link, words("item", number)) for number, link in enumerate(targets)}
    start = page("Start", "Everything that there is.", lists)
    with Web({"a.test": {"/": start, **pages}}) as web:
        crawl(tmp_path, [web.url("a.test")])
        found = {row["url_key"]: row for row in rows(tmp_path, "documents")}
        assert {url_key(web.url("a.test", link)) for link in targets} <= found.keys()
    copies = [row for row in found.values() if row["duplicate_of"]]
    assert len(copies) == 49 + 19
    assert {row["text"] for row in copies} == {None}
