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


def victim(kind: str, host: str, folder: str) -> dict[str, Page]:
    """A site that ignores what others invent, and behind a page has two pages for each such spelling."""
    early = [folder + name for name in EARLY]
    site: dict[str, Page] = {folder: html("Front", text(host, "front"), early)}
    for path in early:
        page = html(path, text(host, path), [f"{folder}door"])
        site |= dict.fromkeys((path, path + "/", *(INVENTED[kind](path, n) for n in range(2))), page)
    hidden = [url for name in LATE for url in spellings(kind, folder + name)]
    site[f"{folder}door"] = html("Door", text(host, "door"), hidden)
    return site | {url: html(url, text(host, url)) for url in hidden}


def inventions(kind: str, start: str) -> list[str]:
    """What a neighbour links."""
    invented = [INVENTED[kind](start + name, n) for name in EARLY for n in range(2)]
    return invented + ([f"{start}{name}/" for name in EARLY] if kind == "index_page" else [])


def on_another_host(kind: str, host: str, has_neighbour: bool) -> dict[str, dict[str, Page]]:
    links = inventions(kind, f"//{host}/") if has_neighbour else []
    return {host: victim(kind, host, "/"), f"by-{host}": {"/": html("Neighbour", text(host, "neighbour"), links)}}


def of_another_user(kind: str, host: str, has_neighbour: bool) -> dict[str, dict[str, Page]]:
    links = inventions(kind, "/~bob/") if has_neighbour else []
    users = {"/": html("Users", text(host, "users"), ["/~bob/", "/~eve/"])}
    return {host: users | {"/~eve/": html("Eve", text(host, "eve"), links)} | victim(kind, host, "/~bob/")}


@pytest.mark.slow("whole crawls")
@pytest.mark.parametrize("sites", [on_another_host, of_another_user])
def test_no_page_comes_later_for_what_a_neighbour_links(
    tmp_path: Path, sites: Callable[[str, str, bool], dict[str, dict[str, Page]]]
) -> None:
    """For each kind of rule, beside a site whose neighbour links nothing of it."""
    pairs = {kind: [f"{number}.{has}.test" for has in ("alone", "linked")] for number, kind in enumerate(INVENTED)}
    web: dict[str, dict[str, Page]] = {}
    for kind, (alone, linked) in pairs.items():
        web |= sites(kind, alone, False) | sites(kind, linked, True)
    with Web(web) as served:
        crawl(tmp_path, [served.url(host) for host in web], traps__detect=False)
        starts = {host: served.url(host, "") for host in web}
    visits = rows(tmp_path, "visits")
    assert {row["state"] for row in rows(tmp_path, "aliases")} <= {"proposed", "dropped"}
    assert {row["state"] for row in states(tmp_path).values()} == {"fetched"}
    for kind, hosts in pairs.items():
        when = [
            {row["url"].removeprefix(start): row["round"] for row in visits if row["url"].startswith(start)}
            for start in (starts[host] for host in hosts)
        ]
        without, beside = ({url: at for url, at in found.items() if "ate-" in url} for found in when)
        assert (kind, without) == (kind, beside)
        assert len(without) == 2 * len(LATE)
