"""Traps that show a site's own pages again and again: under other languages, orders, versions, sessions and times.

Each is a site as those of `trap_sites`, whose pages lead to more URLs of themselves.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.support.trap_sites import NAMES, SECTIONS, Press, Site, article_path, chance, section_of, sessions
from tests.support.web import Answer, html

LANGUAGES = ("de", "en", "es", "fr", "it", "nl", "pl", "pt")


def with_links(page: Answer, links: Iterable[str]) -> Answer:
    """A page with more links."""
    items = "".join(f'<li><a href="{link.replace("&", "&amp;")}">{link.replace("&", "&amp;")}</a>' for link in links)
    return Answer(body=page.body + f"<ul>{items}</ul>".encode())


def variants(name: str, clean: Callable[[str], str | None], more: Callable[[str, str], Iterable[str]]) -> Site:
    """A site whose pages are also had under other URLs.

    `clean` returns the path of the page that a URL shows, and `more` the further URLs in a page, from its URL and path.
    """
    press = Press(name)

    def page(path: str) -> Answer | None:
        return press.home() if path == "/" else press.article(path)

    def answer(url: str) -> Answer | None:
        path = clean(url)
        found = page(path) if path is not None else None
        return with_links(found, more(url, path)) if found and path else None

    useful = lambda url: path if (path := clean(url)) is not None and press.wrote(path) else None  # noqa: E731
    return Site(answer, useful, press.count)


def without_query(url: str) -> str:
    return url.partition("?")[0]


def with_parameter(url: str, name: str, value: object) -> str:
    path, _, query = url.partition("?")
    return f"{path}?{urlencode(dict(parse_qsl(query)) | {name: value})}"


def language_paths() -> Site:
    """The menu of languages puts a folder before the path that is shown, whatever stands there already."""
    clean = lambda url: re.sub(rf"^(/({'|'.join(LANGUAGES)}))+/", "/", url)  # noqa: E731
    return variants("language paths", clean, lambda url, path: [f"/{name}{url}" for name in LANGUAGES])


def language_queries() -> Site:
    more = lambda url, path: [with_parameter(url, "lang", name) for name in LANGUAGES]  # noqa: E731
    return variants("language queries", without_query, more)


def versions() -> Site:
    """Print, text, mobile … versions of each page, each with an address of its own."""
    clean = lambda url: re.sub("^/(print|amp|mobile)/", "/", without_query(url))  # noqa: E731

    def more(url: str, path: str) -> list[str]:
        return [
            *(f"/{kind}{path}" for kind in ("print", "amp", "mobile")),
            *(f"{path}?view={n}" for n in ("pdf", "text")),
        ]

    return variants("versions", clean, more)


def replies() -> Site:
    """Each of the comments on a page has a link that shows the same page, with a form to reply."""
    more = lambda url, path: [f"{path}?replytocom={chance(path, n).randrange(10**5)}" for n in range(12)]  # noqa: E731
    return variants("replies", without_query, more)


def path_parameters() -> Site:
    """Sessions in path parameters, by a name that no list of session parameters knows."""
    link = lambda path, token: f"{path};walk={token}"  # noqa: E731
    return sessions("path parameters", link, lambda path: path.partition(";")[0])


def timestamps() -> Site:
    """Each page puts the time at which it was shown into all its links."""
    views = itertools.count()

    def link(path: str, token: str) -> str:
        second = 1_000 + next(views) // 20
        return f"/at/2026-11-20T{second // 3600:02}-{second // 60 % 60:02}-{second % 60:02}{path}"

    return sessions("timestamps", link, lambda path: re.sub("^/at/[0-9T-]+", "", path))


def wiki_histories() -> Site:
    """Each page has a history, whose old versions and differences have addresses of their own."""
    press = Press("wiki histories")

    def answer(url: str) -> Answer | None:
        path, asked = without_query(url), dict(parse_qsl(urlsplit(url).query))
        page = press.home() if path == "/" else press.article(path)
        if page is None:
            return None
        versions = [5_000 + chance("version", path).randrange(10_000) * 50 + n for n in range(30)]
        text, title = press.story(path).split(), path.strip("/").rpartition("/")[2].removesuffix(".html")
        if asked.get("action") == "history":
            at = int(asked.get("offset", 0))
            shown = [f"{path}?action=show&oldid={n}" for n in versions[at : at + 10]]
            shown += [f"{path}?action=diff&diff={n}&oldid={n - 1}" for n in versions[at : at + 10]]
            days = " ".join(f"Version of {n % 28 + 1} May 20{n % 20:02} by user {n % 97}." for n in versions)
            return html(f"History of {title}", days, [*shown, f"{path}?action=history&offset={at + 10}", path])
        if "oldid" in asked:
            number = int(asked["oldid"])
            old = " ".join(text[: 20 + number % 40])
            near = [f"{path}?action=show&oldid={number + step}" for step in (-1, 1)]
            near += [f"{path}?action=diff&diff={number}&oldid={number + step}" for step in (-1, 1)]
            return html(f"Version {number} of {title}", old, [*near, f"{path}?action=history", path])
        if "action" in asked:
            return html(f"Edit {title}", "You are not logged in.", [path])
        return with_links(page, [f"{path}?action={name}" for name in ("history", "edit", "info")])

    return Site(answer, lambda url: url if press.wrote(url) else None, press.count)


def sorting() -> Site:
    """The sections are listings, in any order, of any length, in any view, page by page."""
    press = Press("sorting")
    choices: Mapping[str, list[object]] = {
        "sort": ["name", "date", "price", "rating"],
        "order": ["up", "down"],
        "show": [10, 25, 50],
        "view": ["grid", "list"],
    }

    def answer(url: str) -> Answer | None:
        path, asked = without_query(url), dict(parse_qsl(urlsplit(url).query))
        name = path.strip("/")
        page = press.home() if path == "/" else press.article(path)
        if page is None or name not in SECTIONS:
            return page
        mine = [article_path(n) for n in range(len(NAMES)) if section_of(n) == name]
        if asked:
            size, at = int(asked.get("show", 10)), int(asked.get("page", 1)) - 1
            chance(path, *sorted(set(asked.items()) - {("page", asked.get("page"))})).shuffle(mine)
            mine = mine[at * size : (at + 1) * size]
        links = [with_parameter(url, key, value) for key, values in choices.items() for value in values]
        links += [with_parameter(url, "page", n) for n in range(1, 8)]
        return html(f"All {name}", press.story(path), [*mine, *links])

    return Site(answer, lambda url: url if press.wrote(url) else None, press.count)


def relative_folders() -> Site:
    """Links to the sections are relative by mistake, and the server ignores what stands before a section."""
    press = Press("relative folders")

    def clean(url: str) -> str:
        found = re.search(rf"/(?:{'|'.join(SECTIONS)})/(?:[^/]+)?$", url)
        return found[0] if found else url

    def answer(url: str) -> Answer | None:
        path = clean(url)
        page = press.home() if path == "/" else press.article(path)
        return with_links(page, [f"{name}/" for name in SECTIONS]) if page and path.endswith("/") else page

    return Site(answer, lambda url: path if press.wrote(path := clean(url)) else None, press.count)


VARIANTS: Mapping[str, Callable[[], Site]] = {
    "language-paths.test": language_paths,
    "language-queries.test": language_queries,
    "versions.test": versions,
    "replies.test": replies,
    "path-parameters.test": path_parameters,
    "timestamps.test": timestamps,
    "wiki-histories.test": wiki_histories,
    "sorting.test": sorting,
    "relative-folders.test": relative_folders,
}
