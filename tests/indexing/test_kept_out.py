"""Pages that searches do not find by the word of their authors (`search=no`), or by the settings (`[index]`)."""

import io
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from beamtrawl.runners.exports.ciff_index import write_ciff
from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.gateway.suggest import suggestions
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from tests.support.command_line import beamtrawl
from tests.support.crawls import crawl, rows, states
from tests.support.robots_files import replace_robots
from tests.support.web import Web, html, plain

AGAIN = {"rounds": 1, "recrawl__after": 0.0}
SIGNAL = "User-agent: *\nContent-Signal: "
SETTINGS = '[fetch]\nallow_addresses = ["127.0.0.0/8"]\n'


def found(path: Path) -> set[str]:
    """The paths of the pages that "lamp" finds, which all have; the same by search, CIFF and stored text."""
    index, sink = Index.open(CrawlDir(str(path))), io.BytesIO()
    hits = {hit.url for hit in index.search("lamp", 100).hits}
    assert write_ciff(index, sink).documents == index.documents == len(hits)
    assert all(url.encode() in sink.getvalue() for url in hits)
    assert {url for row in rows(path, "documents") if index.stored(url := row["url"])} == hits
    assert {each.url for each in suggestions(index, "lamp") if each.url} <= hits
    return {urlsplit(url).path for url in hits}


def documents(path: Path, home: str, *columns: str) -> dict[str, tuple[Any, ...]]:
    newest = {row["url"].removeprefix(home): row for row in rows(path, "documents")}
    return {name: tuple(row[column] for column in columns) for name, row in newest.items()}


@pytest.mark.slow("whole crawls")
def test_pages_that_their_authors_reserve_from_search(tmp_path: Path) -> None:
    now: dict[str, Any] = {
        "/robots.txt": plain(SIGNAL + "use=reference\nContent-Signal: /closed/ search=no, ai-train=no"),
        "/": html("Home", "A lamp for the start.", ["/closed/a", "/open", "/closed/twin", "/twin/of/it"]),
        "/closed/a": html("Closed", "A lamp that is reserved, zyzzyva."),
        "/closed/twin": html("Twin", "A lamp and its twin."),
        "/twin/of/it": html("Twin", "A lamp and its twin."),
        "/open": html("Open", "A lamp for everybody."),
    }
    with Web({"a.test": {path: lambda _, path=path: now[path] for path in now}}) as web:
        home = web.url("a.test")
        crawl(tmp_path, [home])
        assert found(tmp_path) == {"/", "/open", "/twin/of/it"}
        assert Index.open(CrawlDir(str(tmp_path))).search("zyzzyva").hits == []
        assert Index.open(CrawlDir(str(tmp_path))).words_like("zyz*") == []
        assert documents(tmp_path, home, "content_signals", "search", "ai_training", "duplicate_of") == {
            "": ("use=reference", None, None, None),
            "open": ("use=reference", None, None, None),
            "twin/of/it": ("use=reference", None, None, None),
            "closed/a": ("search=no, ai-train=no, use=reference", False, False, None),
            "closed/twin": ("search=no, ai-train=no, use=reference", False, False, None),
        }
        assert states(tmp_path)[f"{home}closed/a"]["reason"] == "denied_search"
        (tmp_path / "crawl.toml").write_text(SETTINGS)
        said = beamtrawl("explain", tmp_path, f"{home}closed/a").out
        assert "not in the index: its author reserves it from search, by line 3 of robots.txt:" in said
        assert "  ai-train=no by line 3 of robots.txt: Content-Signal: /closed/ search=no, ai-train=no\n" in said
        assert "documents that searches do not find: denied_search 2\n" in beamtrawl("status", tmp_path).out
        assert beamtrawl("export", "corpus", tmp_path, tmp_path / "a").out.startswith("3 documents in 1 file, 2 left")
        all_five = beamtrawl("export", "corpus", tmp_path, tmp_path / "b", "--include", "reserved")
        assert all_five.out.startswith("5 documents")

        now["/robots.txt"] = plain(SIGNAL + "/open search=no")
        replace_robots(tmp_path)
        crawl(tmp_path, **AGAIN)
        assert found(tmp_path) == {"/", "/closed/a", "/twin/of/it"}  # the twin is a copy of it now
        now["/robots.txt"] = plain("")
        replace_robots(tmp_path)
        crawl(tmp_path, **AGAIN)
        assert found(tmp_path) == {"/", "/open", "/closed/a", "/twin/of/it"}

        before = len(web.requests)
        replace_robots(tmp_path, SIGNAL + "/ search=no, ai-train=no\nContent-Signal: /open search=yes, ai-train=yes")
        assert found(tmp_path) == {"/open"}
        assert beamtrawl("export", "corpus", tmp_path, tmp_path / "c").out.startswith("1 document in 1 file")
        assert "by line 2 of robots.txt" in beamtrawl("explain", tmp_path, f"{home}closed/a").out
        assert json.loads(beamtrawl("status", tmp_path, "--json").out)["unindexed"] == {"denied_search": 4}
        assert len(web.requests) == before


def test_an_index_scope_that_changes(tmp_path: Path) -> None:
    pages = {f"/{name}": html(name, f"The lamp of {name}.") for name in ("one", "two")}
    site = {
        "/": html("Home", "A lamp.", ["/list", "/copy/of/two"]),
        "/list": html("list", "A lamp for each.", ["/one", "/two"]),
    }
    site["/copy/of/two"] = pages["/two"]
    now: dict[str, Any] = pages | site
    everything = {"/", "/list", "/one", "/two"}
    with Web({"a.test": {path: lambda _, path=path: now[path] for path in now}}) as web:
        home = web.url("a.test")
        crawl(tmp_path, [home], index__exclude=["/list", "/copy/"])
        assert found(tmp_path) == {"/", "/one", "/two"}
        assert documents(tmp_path, home, "duplicate_of") == dict.fromkeys(
            ["", "list", "one", "two", "copy/of/two"], (None,)
        )
        (tmp_path / "crawl.toml").write_text(SETTINGS + '[index]\nexclude = ["/list", "/copy/"]\n')
        why = 'not in the index: the pattern "/list" of index.exclude matches it'
        assert why in beamtrawl("explain", tmp_path, f"{home}list").out
        assert "documents that searches do not find: index_scope 2\n" in beamtrawl("status", tmp_path).out

        before = len(web.requests)
        crawl(tmp_path, index__exclude=["/copy/"])
        assert found(tmp_path) == everything
        crawl(tmp_path, index__include=["//[^/]+/(one|two)$"])
        assert found(tmp_path) == {"/one", "/two"}
        steps = len(CrawlDir(str(tmp_path)).manifests())
        crawl(tmp_path, index__include=["//[^/]+/(one|two|three)$"])  # takes no document in or out
        assert len(CrawlDir(str(tmp_path)).manifests()) == steps

        (tmp_path / "crawl.toml").write_text(SETTINGS + '[index]\nexclude = ["/one"]\n')
        assert "takes it in" in beamtrawl("explain", tmp_path, f"{home}list").out
        assert "(from the next crawl or compact on)" in beamtrawl("explain", tmp_path, f"{home}one").out
        beamtrawl("compact", tmp_path)
        assert found(tmp_path) == {"/", "/list", "/two", "/copy/of/two"}
        assert len(web.requests) == before

        now["/two"] = html("two", "The lamp of two, with news.")
        crawl(tmp_path, **AGAIN, index__exclude=["/two"])
        assert found(tmp_path) == {"/", "/list", "/one"}
