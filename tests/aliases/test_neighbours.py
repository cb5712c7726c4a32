"""What other sites, or users, link on a host teaches no rule about it, and holds no page of it back."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.crawls import crawl, rows, states
from tests.support.web import Page, Web, html

EARLY, LATE = [f"Early-{n}" for n in range(8)], [f"Late-{n}" for n in range(30)]

# kind of rule: a further spelling of a page, numbered
INVENTED: dict[str, Callable[[str, int], str]] = {
    "parameter": lambda path, n: f"{path}?page={n}",
    "trailing_slash": lambda path, n: path + "/",
    "case": lambda path, n: path.replace("E", "e").replace("L", "l"),
    "index_page": lambda path, n: f"{path}/index.html",
}


def text(*numbers: object) -> str:
    """What no other page says."""
    return f"Haul {numbers}: " + "cod end, warp and winch, " * 4


def spellings(kind: str, path: str) -> list[str]:
    plain = path + "/" if kind == "index_page" else path
    return [plain, INVENTED[kind](path, 1)]


def victim(kind: str, folder: str) -> dict[str, Page]:
    """A site that ignores what others invent, and behind a page has two pages for each such spelling."""
    early = [folder + name for name in EARLY]
    site: dict[str, Page] = {folder: html("Front", text("front"), early)}
    for path in early:
        page = html(path, text(path), [f"{folder}door"])
        site |= dict.fromkeys((path, path + "/", *(INVENTED[kind](path, n) for n in range(2))), page)
    hidden = [url for name in LATE for url in spellings(kind, folder + name)]
    site[f"{folder}door"] = html("Door", text("door"), hidden)
    return site | {url: html(url, text(url)) for url in hidden}


def inventions(kind: str, start: str) -> list[str]:
    """What a neighbour links."""
    invented = [INVENTED[kind](start + name, n) for name in EARLY for n in range(2)]
    return invented + ([f"{start}{name}/" for name in EARLY] if kind == "index_page" else [])


def on_another_host(kind: str, has_neighbour: bool) -> dict[str, dict[str, Page]]:
    links = inventions(kind, "//b.test/") if has_neighbour else []
    return {"b.test": victim(kind, "/"), "a.test": {"/": html("Neighbour", text("neighbour"), links)}}


def of_another_user(kind: str, has_neighbour: bool) -> dict[str, dict[str, Page]]:
    links = inventions(kind, "/~bob/") if has_neighbour else []
    users = {"/": html("Users", text("users"), ["/~bob/", "/~eve/"]), "/~eve/": html("Eve", text("eve"), links)}
    return {"b.test": users | victim(kind, "/~bob/")}


@pytest.mark.slow("whole crawls")
@pytest.mark.parametrize("kind", INVENTED)
@pytest.mark.parametrize("sites", [on_another_host, of_another_user])
def test_no_page_comes_later_for_what_a_neighbour_links(
    tmp_path: Path, sites: Callable[[str, bool], dict[str, dict[str, Page]]], kind: str
) -> None:
    when = []
    for has_neighbour in (False, True):
        web, root = sites(kind, has_neighbour), tmp_path / str(has_neighbour)
        with Web(web) as served:
            crawl(root, [served.url(host) for host in web], traps__detect=False)
            found = {row["url"].removeprefix(served.url("b.test", "")): row["round"] for row in rows(root, "visits")}
        assert {row["state"] for row in rows(root, "aliases")} <= {"proposed", "dropped"}
        assert {row["state"] for row in states(root).values()} == {"fetched"}
        when.append({url: round_ for url, round_ in found.items() if "ate-" in url})
    assert when[0] == when[1]
    assert len(when[0]) == 2 * len(LATE)
