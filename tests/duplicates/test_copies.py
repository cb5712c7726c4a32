"""No host takes a page of another from a crawl or its index; pages with the same text lead on to their own links."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.settings import render as toml
from beamtrawl.transforms.urls.canonical import url_key
from tests.support.command_line import beamtrawl
from tests.support.crawls import crawl, rows, settings, states
from tests.support.web import Web

SECTIONS, PAGES = 10, 2
MOVED = "This page has moved. Please update your bookmarks and follow the link below to its new address in the archive."
INTRODUCTION = "Browse our catalogue by category. Choose from the list at the side or go back to the start of the shop."


def page(title: str, text: str, links: Iterable[str] = ()) -> str:
    """The HTML of a page whose links are no part of its text."""
    menu = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    return f"<!doctype html><title>{title}</title><nav>{menu}</nav><h1>{title}</h1><p>{text}</p>"


def words(name: str, number: int) -> str:
    """A text of its own for each page: long enough for a digest and for a signature of its words."""
    return " ".join(f"{name}{number}word{n}" for n in range(50))


def victim(name: str) -> dict:
    """Sections with pages that only they link to."""
    site = {"/": page(f"Victim {name}", f"All of {name}.", [f"/section/{n}" for n in range(SECTIONS)])}
    for n in range(SECTIONS):
        links = [f"/section/{n}/page/{m}" for m in range(PAGES)]
        site[f"/section/{n}"] = page(f"Section {n}", words(name, n), links)
        site |= {link: page(f"Page {n} {m}", words(f"{name}page{n}x", m)) for m, link in enumerate(links)}
    return site


def copier(name: str, change: str) -> dict:
    """The same sections under shorter names, without the links."""
    site = {"/": page(f"Copier {name}", f"Mine, all of {name}.", [f"/{n}" for n in range(SECTIONS)])}
    return site | {f"/{n}": page(f"Section {n}", words(name, n) + change) for n in range(SECTIONS)}


COPIED = {"section": "", "chapter": " edited", "part": "", "volume": " edited"}
"""The sites that are copied, and what is added to each copied text."""

TOGETHER = ("part", "volume")
"""Those that are crawled at the same time as the sites that copy them; of the others, the copies come first."""


def test_a_host_that_copies_another_takes_nothing_from_it(tmp_path: Path) -> None:
    sites = {f"c-{name}.test": copier(name, change) for name, change in COPIED.items()}
    with Web(sites | {f"{name}.test": victim(name) for name in COPIED}) as web:
        copiers, victims = ({name: web.url(f"{start}{name}.test") for name in COPIED} for start in ("c-", ""))
        crawl(tmp_path, [url for name, url in copiers.items() if name not in TOGETHER])
        crawl(tmp_path, [*victims.values(), *(copiers[name] for name in TOGETHER)])
    documents = rows(tmp_path, "documents")
    for home in victims.values():
        of_victim = [row for row in documents if row["url"].startswith(home)]
        assert len(of_victim) == 1 + SECTIONS + SECTIONS * PAGES
        assert all(row["text"] for row in of_victim)
    assert {row["duplicate_of"] for row in documents} == {row["near_duplicate_of"] for row in documents} == {None}
    index = Index.open(CrawlDir(str(tmp_path)))
    shown = {name: {len(index.search(f"{name}{n}word7", limit=100).hits) for n in range(SECTIONS)} for name in COPIED}
    assert shown == {  # one of equal texts is shown, both of nearly equal ones
        name: {2 if change else 1} for name, change in COPIED.items()
    }
    keys = {row["url_key"]: row["url"] for row in documents}
    copies = {row["url"]: keys[row["same_content_as"]] for row in documents if row["same_content_as"]}
    pairs = {
        name: [(f"{copiers[name]}{n}", f"{victims[name]}section/{n}") for n in range(SECTIONS)]
        for name, change in COPIED.items()
        if not change
    }
    pairs["part"] = [(min(pair), max(pair)) for pair in pairs["part"]]  # of one round, the first in the alphabet
    assert copies == {later: first for of_site in pairs.values() for first, later in of_site}


@pytest.mark.slow("whole crawls")
def test_a_user_of_a_host_who_copies_another_takes_nothing_from_them(tmp_path: Path) -> None:
    """Their folders, /~eve/ and /~someone/, are those of two owners; the copies have shorter URLs."""
    site = {"/": page("Users", "All who have pages here.", ["/~e/", "/~someone/"])}
    for name, change in COPIED.items():
        for user, pages in (("e", copier(name, change)), ("someone", victim(name))):
            folder = f"/~{user}/{name}"
            moved = {path: str(text).replace('href="/', f'href="{folder}/') for path, text in pages.items()}
            site |= {folder + path: text for path, text in moved.items()}
    for user in ("e", "someone"):
        site[f"/~{user}/"] = page(f"Pages of {user}", f"All of {user}.", [f"/~{user}/{name}/" for name in COPIED])
    with Web({"a.test": site}) as web:
        crawl(tmp_path, [web.url("a.test")])
        folder = web.url("a.test", "/~someone/")
    documents = rows(tmp_path, "documents")
    of_victim = [row for row in documents if row["url"].startswith(folder)]
    assert len(of_victim) == 1 + len(COPIED) * (1 + SECTIONS + SECTIONS * PAGES)
    assert all(row["text"] for row in of_victim)
    assert {row["duplicate_of"] for row in documents} == {row["near_duplicate_of"] for row in documents} == {None}
    exact = sum(not change for change in COPIED.values())
    assert sum(row["same_content_as"] is not None for row in documents) == exact * SECTIONS


@pytest.mark.slow("whole crawls")
def test_links_of_pages_with_the_same_text_are_followed(tmp_path: Path) -> None:
    lists = {f"/old/{n}": [f"/new/{n}"] for n in range(30)}
    lists |= {f"/category/{n}": [f"/item/{n}-{m}" for m in range(3)] for n in range(12)}
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
    assert len(copies) == 29 + 11
    assert {row["text"] for row in copies} == {None}


def partial_mirror(name: str) -> dict:
    """60 pages in six sections, of which 36 are those of every other such site."""
    sections = [f"/section/{n}" for n in range(6)]
    site = {"/": page(f"Docs of {name}", f"All that is new in {name}.", sections)}
    for n, section in enumerate(sections):
        links = [f"{section}/{m}" for m in range(10)]
        site[section] = page(f"Section {n}", words(f"{name}section", n), links)
        for m, link in enumerate(links):
            site[link] = page(f"Page {n} {m}", words(f"page{n}x" if m < 6 else f"{name}page{n}x", m))
    return site


@pytest.mark.slow("whole crawls")
def test_partial_mirrors_lose_nothing_and_their_copies_are_explained(tmp_path: Path) -> None:
    with Web({"a.test": partial_mirror("alpha"), "b.test": partial_mirror("beta")}) as web:
        crawl(tmp_path, [web.url("a.test"), web.url("b.test")])
        hosts, copied = [web.authority("a.test"), web.authority("b.test")], web.url("b.test", "/section/3/1")
    found_states = Counter(row["state"] for row in states(tmp_path).values())
    assert found_states.pop("probed", 0) <= 4  # two a host: its sections look alike
    assert found_states == {"fetched": 2 * (1 + 6 + 60)}
    index = Index.open(CrawlDir(str(tmp_path)))
    for n in range(6):
        assert [len(index.search(f"{word}{n}x{m}word7").hits) for m, word in ((1, "page"), (7, "alphapage"))] == [1, 1]
        assert len(index.search(f"betapage{n}x9word7").hits) == 1
    assert sum(row["same_content_as"] is not None for row in rows(tmp_path, "documents")) == 36
    (tmp_path / "crawl.toml").write_text(toml(settings()))
    said = json.loads(beamtrawl("explain", tmp_path, copied, "--json").out)["copies"]
    assert said == {"same_content_as": copied.replace(hosts[1], hosts[0])}
