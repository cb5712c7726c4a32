"""Traps that make up pages: link farms, tag combinations, searches, calendars, redirects and files.

Each is a site as those of `trap_sites`.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from urllib.parse import parse_qsl, urlsplit

from tests.support.trap_sites import COMMON_WORDS, NAMES, Press, Site, article_path, chance, with_articles, word
from tests.support.trap_variants import with_links
from tests.support.web import Answer, Page, html, redirect

_TAGS = COMMON_WORDS[:24]


def link_farm(path: str) -> Page | None:
    """Pages of invented names, which lead to each other; their text is made of few words."""
    if not path.startswith("/farm/"):
        return None
    rng = chance("farm", path)
    text = " ".join(rng.choice(COMMON_WORDS) for _ in range(80))
    title = " ".join(rng.choice(COMMON_WORDS) for _ in range(4))
    names = [f"/farm/{word(rng)}-{word(rng)}.html" for _ in range(12)]
    return html(title, text, names)


def tag_combinations() -> Site:
    """Pages of all that has some tags, which lead to those of one tag more."""
    press = Press("tags")
    tags = {number: set(chance("tags", number).sample(_TAGS, 4)) for number in range(len(NAMES))}
    single = [f"/tags/{name}" for name in _TAGS]

    def answer(path: str) -> Page | None:
        if path == "/":
            return press.home(*single)
        if not path.startswith("/tags/"):
            return press.article(path)
        asked = path.removeprefix("/tags/").split("+")
        mine = [article_path(number) for number, has in tags.items() if has.issuperset(asked)]
        more = ["+".join([*asked, name]) for name in _TAGS if name not in asked]
        return html(f"Tagged {', '.join(asked)}", f"{len(mine)} found.", [*mine, *(f"/tags/{name}" for name in more)])

    return Site(answer, lambda path: path if press.wrote(path) or path in single else None, press.count + len(single))


def searches() -> Site:
    """Result pages of the site's own search, which propose other searches."""
    press = Press("searches")

    def answer(path: str) -> Page | None:
        if path == "/":
            return press.home("/search?q=" + COMMON_WORDS[0])
        if not path.startswith("/search?"):
            return press.article(path)
        query = dict(parse_qsl(urlsplit(path).query)).get("q", "")
        rng = chance("search", query)
        results = [article_path(rng.randrange(len(NAMES))) for _ in range(6)]
        words = [rng.choice(press.story(result).split()) for result in results]
        other = [*words, *(f"{query.split()[0]}+{name}" for name in words[:3])]
        text = " ".join(" ".join(press.story(result).split()[:12]) for result in results)
        return html(f"Results for {query}", text, [*results, *(f"/search?q={name}" for name in other)])

    return Site(answer, lambda path: path if press.wrote(path) else None, press.count)


_FIRST_DAY = date(2026, 11, 1)


def days() -> Site:
    """A calendar of days, weeks and months; one month has events."""
    press = Press("days")
    useful = [f"/events/{_FIRST_DAY + timedelta(n)}" for n in range(30)]

    def answer(path: str) -> Page | None:
        if path == "/":
            return press.home(*useful)
        if not (found := re.fullmatch(r"/events/(\d{4})-(\d\d)-(\d\d)(/week|/month|/print)?", path)):
            return press.article(path)
        try:
            day = date(*map(int, found.groups()[:3]))
        except ValueError:
            return None
        text = press.story(path) if path in useful else "Nothing takes place on this day. Please look at another day."
        near = [f"/events/{day + timedelta(step)}" for step in (-1, 1, -7, 7, -30, 30, 365)]
        shown = f"{day:%A}, {day.day} {day:%B} {day.year}"
        return html(shown, text, [*near, *(f"/events/{day}{view}" for view in ("/week", "/month", "/print"))])

    return Site(answer, lambda path: path if press.wrote(path) or path in useful else None, press.count + len(useful))


def hours(path: str) -> Page | None:
    """A timetable of rooms by the hour, in a query."""
    parts = urlsplit(path)
    if parts.path != "/rooms":
        return None
    asked = dict(parse_qsl(parts.query))
    day, hour = date.fromisoformat(asked.get("day", "2026-11-20")), int(asked.get("hour", 9))
    rooms = "".join(f"Room {n}: {'free' if (day.day + hour + n) % 3 else 'taken'}. " for n in range(1, 9))
    steps = [(day, h) for h in range(8, 20)] + [(day + timedelta(step), hour) for step in (-7, -1, 1, 7)]
    links = [f"/rooms?day={at}&hour={h}" for at, h in steps]
    return html(f"Rooms on {day:%d %B %Y} at {hour}:00", rooms, links)


def redirects() -> Site:
    """Each page has links through a counter, which leads from redirect to redirect."""
    press = Press("redirects")

    def answer(path: str) -> Page | None:
        if found := re.fullmatch(r"/go/([^/]+)/(\d+)", path):
            return redirect(f"/go/{found[1]}/{int(found[2]) + 1}")
        page = press.home() if path == "/" else press.article(path)
        names = [word(chance("go", path, n)) for n in range(4)]
        return with_links(page, [f"/go/{name}/0" for name in names]) if page else None

    return Site(answer, lambda path: path if press.wrote(path) else None, press.count)


def files() -> Site:
    """Each page has downloads in a format that is not wanted, under an extension that nobody knows."""
    press = Press("files")

    def answer(path: str) -> Page | None:
        if path.startswith("/files/"):
            return Answer(body=b"\x00" * 64, headers=(("Content-Type", "application/x-drawing"),))
        page = press.home() if path == "/" else press.article(path)
        names = [f"{word(chance('file', path, n))}.dwgx" for n in range(8)]
        return with_links(page, [f"/files/{name}" for name in names]) if page else None

    return Site(answer, lambda path: path if press.wrote(path) else None, press.count)


GROWTH: Mapping[str, Callable[[], Site]] = {
    "link-farm.test": lambda: with_articles(link_farm, "/farm/"),
    "tags.test": tag_combinations,
    "searches.test": searches,
    "days.test": days,
    "hours.test": lambda: with_articles(hours, "/rooms"),
    "redirects.test": redirects,
    "files.test": files,
}
