"""What other sites link on a host teaches no rule about it, and takes no page of it or its place in the index."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.crawls import crawl, rows, states
from tests.support.web import Page, Web, html

EARLY = [f"/Early-{n}" for n in range(8)]

# kind of rule: a further spelling of a page, numbered
INVENTED: dict[str, Callable[[str, int], str]] = {
    "parameter": lambda path, n: f"{path}?page={n}",
    "trailing_slash": lambda path, n: path + "/",
    "case": lambda path, n: path.lower(),
    "index_page": lambda path, n: f"{path}/index.html",
}


def text(*numbers: object) -> str:
    """What no other page says."""
    return f"Haul {numbers}: " + "cod end, warp and winch, " * 4


def victim(kind: str, late: int = 30) -> dict[str, Page]:
    """A site that ignores what others invent, and behind a page has two pages for each such spelling."""
    spelling = INVENTED[kind]
    site: dict[str, Page] = {"/": html("Front", text("front"), EARLY)}
    for path in EARLY:
        page = html(path, text(path), ["/door"])
        site |= dict.fromkeys((path, path + "/", *(spelling(path, n) for n in range(2))), page)
    hidden = [url for n in range(late) for url in spellings(kind, f"/Late-{n}")]
    site["/door"] = html("Door", text("door"), hidden)
    return site | {url: html(url, text(url)) for url in hidden}


def spellings(kind: str, path: str) -> list[str]:
    plain = path + "/" if kind == "index_page" else path
    return [plain, INVENTED[kind](path, 1)]


def neighbour(kind: str) -> dict[str, Page]:
    invented = [INVENTED[kind](path, n) for path in EARLY for n in range(2)]
    invented += [path + "/" for path in EARLY] if kind == "index_page" else []
    return {"/": html("Neighbour", text("neighbour"), [f"http://b.test{path}" for path in invented])}


@pytest.mark.parametrize("kind", INVENTED)
def test_no_page_comes_later_for_what_a_neighbour_links(tmp_path: Path, kind: str) -> None:
    when = []
    for name in ("alone", "beside"):
        sites = {"b.test": victim(kind)} | ({"a.test": neighbour(kind)} if name == "beside" else {})
        with Web(sites) as web:
            root = tmp_path / name
            crawl(root, [web.url(host) for host in sites], traps__detect=False)
            start = web.url("b.test", "/")
            assert [row for row in states(root).values() if row["state"] == "alias"] == []
        assert {row["state"] for row in rows(root, "aliases")} <= {"proposed", "dropped"}
        own = {web.url("b.test", path): path for path in ("/door", *(f"/Late-{n}" for n in range(30)))}
        own |= {web.url("b.test", url): url for n in range(30) for url in spellings(kind, f"/Late-{n}")}
        when.append({own[row["url"]]: row["round"] for row in rows(root, "visits") if row["url"] in own})
        assert start in {row["url"] for row in rows(root, "documents")}
    assert when[0] == when[1]
    assert len(when[0]) == 61
