"""Sites that have a few hundred pages worth reading, and a trap: as many more as anybody asks for.

Each is a function of the path, so that there is no end to it. `TRAPS` names them; `Site.useful` says what a path shows
that is worth reading, so that a second look at the same under another URL counts as none.
"""

import itertools
import random
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from tests.support.web import Answer, Page, html

ARTICLES = 300
"""Of a site, unless it is asked for fewer."""

SECTIONS = ("news", "guides", "people", "places")
_SYLLABLES = [
    "ba",
    "be",
    "bi",
    "bo",
    "da",
    "de",
    "di",
    "do",
    "fa",
    "fe",
    "ga",
    "go",
    "ka",
    "ke",
    "ki",
    "ko",
    "la",
    "le",
    "li",
    "lo",
    "ma",
    "me",
    "mi",
    "mo",
    "na",
    "ne",
    "no",
    "pa",
    "pe",
    "ra",
    "re",
    "ri",
    "ro",
]
COMMON_WORDS = ["".join(pair) for pair in itertools.product(_SYLLABLES[:20], _SYLLABLES)][:300]


class Site(Mapping[str, Page]):
    """Answers any path that the function knows; None is a 404."""

    def __init__(self, answer: Callable[[str], Page | None], useful: Callable[[str], str | None], count: int) -> None:
        self._answer, self.useful, self.count = answer, useful, count

    def __getitem__(self, path: str) -> Page:
        if (page := self._answer(path)) is None:
            raise KeyError(path)
        return page

    def __iter__(self) -> Iterator[str]:
        return iter(["/"])

    def __len__(self) -> int:
        return 1


def chance(*seed: object) -> random.Random:
    """The same in every process."""
    return random.Random(zlib.crc32(repr(seed).encode()))


def word(luck: random.Random, syllables: int = 4) -> str:
    return "".join(luck.choice(_SYLLABLES) for _ in range(syllables))


NAMES = [f"{word(chance('name', number), 3)}-{number}" for number in range(ARTICLES)]


def section_of(number: int) -> str:
    return SECTIONS[number % len(SECTIONS)]


def article_path(number: int) -> str:
    return f"/{section_of(number)}/{NAMES[number]}.html"


_NUMBERS = {article_path(number): number for number in range(ARTICLES)}


class Press:
    """Writes the pages of a site that are worth reading: a home page, sections, and articles."""

    def __init__(self, site: str, articles: int = ARTICLES) -> None:
        self._site, self._articles = site, articles
        self.count = 1 + len(SECTIONS) + articles

    def story(self, name: str) -> str:
        """A text of common words, and of some that only it has."""
        luck = chance("story", self._site, name)
        words = [*(luck.choice(COMMON_WORDS) for _ in range(60)), *(word(luck, 5) for _ in range(6))]
        luck.shuffle(words)
        return " ".join(words)

    def home(self, *more: str) -> Answer:
        return html(f"Home of {self._site}", self.story("home"), [*(f"/{name}/" for name in SECTIONS), *more])

    def article(self, path: str) -> Answer | None:
        """A section, or an article, which names its neighbours."""
        if (name := path.strip("/")) in SECTIONS and path.endswith("/"):
            mine = [article_path(number) for number in range(self._articles) if section_of(number) == name]
            return html(f"All {name}", self.story(name), [*mine, "/"])
        if (number := self._number(path)) is None:
            return None
        near = [article_path((number + step) % self._articles) for step in (1, 4, 9, 40)]
        return html(f"About {NAMES[number]}", self.story(path), [*near, f"/{section_of(number)}/", "/"])

    def wrote(self, path: str) -> bool:
        return path == "/" or self._number(path) is not None or path.strip("/") in SECTIONS

    def _number(self, path: str) -> int | None:
        """The number of an article of this site."""
        number = _NUMBERS.get(path, self._articles)
        return number if number < self._articles else None


def with_articles(trap: Callable[[str], Page | None], *entries: str, articles: int = ARTICLES) -> Site:
    """A site whose home page leads to articles and into a trap, where only the entries are worth reading."""
    press = Press("trap", articles)

    def answer(path: str) -> Page | None:
        return press.home(*entries) if path == "/" else press.article(path) or trap(path)

    useful = lambda path: path if press.wrote(path) or path in entries else None  # noqa: E731
    return Site(answer, useful, press.count + len(entries))


def loop(period: int, articles: int = ARTICLES) -> Site:
    """A folder of a folder … links back to the first: each folder can be had under ever longer paths."""
    press = Press(f"loop {period}")
    folders = [f"part{letter}" for letter in "abcd"[:period]]
    share = articles // period

    def real(path: str) -> tuple[int, str] | None:
        """(how deep the folder of a path really is, name of the file in it)."""
        *names, name = path.strip("/").split("/") if path != "/" else [""]
        if path.endswith("/"):
            names, name = [*filter(None, [*names, name])], ""
        if any(each != folders[i % period] for i, each in enumerate(names)):
            return None
        return ((len(names) - 1) % period + 1 if names else 0), name

    def files(depth: int) -> list[str]:
        return [f"{name}.html" for name in NAMES[(depth - 1) * share : depth * share]] if depth else []

    def answer(path: str) -> Page | None:
        found = real(path)
        if found is None:
            return None
        depth, name = found
        if path == "/":
            whole = ["/".join(["", *folders[:deep], ""]) for deep in range(1, period + 1)]
            return html("Contents", press.story(""), whole)
        if name in files(depth):
            near = files(depth).index(name)
            return html(f"About {name}", press.story(name), [files(depth)[near - 1], "./"])
        return (
            html(
                f"Index of {path}",
                press.story("") if depth == 0 else "",
                [*files(depth), f"{folders[depth % period]}/"],
            )
            if not name
            else None
        )

    def useful(path: str) -> str | None:
        return path if (real(path) or (0, ""))[0] == path.count("/") - 1 else None

    return Site(answer, useful, 1 + period + share * period)


_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


def calendar(articles: int = ARTICLES) -> Site:
    """Six months have events; before and after them is time without end."""
    press = Press("calendar", articles)
    useful = [f"/calendar/2026/{month}" for month in range(6, 12)]

    def answer(path: str) -> Page | None:
        if path == "/":
            return press.home(*useful)
        if not (found := re.fullmatch(r"/calendar/(\d+)/(\d+)", path)):
            return press.article(path)
        year, month = int(found[1]), int(found[2])
        text = (
            press.story(path)
            if path in useful
            else "There are no events in this month. Come back later, or look at another."
        )
        steps = (year * 12 + month - 1 + step for step in (1, -1, 12))
        return html(f"{_MONTHS[month - 1]} {year}", text, [f"/calendar/{at // 12}/{at % 12 + 1}" for at in steps])

    return Site(answer, lambda path: path if press.wrote(path) or path in useful else None, press.count + 6)


_FILTERS = {"brand": 4, "colour": 4, "cut": 3, "fabric": 3, "size": 5, "sort": 3}


def facets(articles: int = ARTICLES) -> Site:
    """A listing of five pages, under every combination of filters in every order."""
    press = Press("facets", articles)
    pages = ["/shop", *(f"/shop?page={number}" for number in range(2, 6))]

    def answer(path: str) -> Page | None:
        if path == "/":
            return press.home("/shop")
        parts = urlsplit(path)
        if parts.path != "/shop":
            return press.article(path)
        asked = dict(parse_qsl(parts.query))
        page = asked.pop("page", "1")
        shown = ", ".join(f"{name} {value}" for name, value in asked.items()) or "everything"
        filters = [
            "/shop?"
            + "&".join(f"{n}={v}" for n, v in chance(path, name, value).sample(list(with_.items()), len(with_)))
            for name, count in _FILTERS.items()
            for value in range(count)
            if (with_ := asked | {name: f"{name}{value}"}) != asked
        ]
        return html("Shop", f"{shown}: {press.story('shop' + page)}", [*pages[1:], *filters])

    return Site(answer, lambda path: path if press.wrote(path) or path in pages else None, press.count + len(pages))


def sessions(name: str, link: Callable[[str, str], str], clean: Callable[[str], str], articles: int = ARTICLES) -> Site:
    """Every page that is shown puts another session into all its links."""
    press, views = Press(name, articles), itertools.count()

    def answer(path: str) -> Page | None:
        token = f"{chance('session', next(views)).getrandbits(64):016x}"
        page = press.home() if clean(path) == "/" else press.article(clean(path))
        if page is None:
            return None
        body = re.sub(r'href="([^"]+)"', lambda match: f'href="{link(match[1], token)}"', page.body.decode())
        return Answer(body=body.encode())

    return Site(answer, lambda path: clean(path) if press.wrote(clean(path)) else None, press.count)


def path_sessions() -> Site:
    return sessions("path", lambda path, token: f"/in/{token}{path}", lambda path: re.sub(r"^/in/\w+", "", path))


def query_sessions(articles: int = ARTICLES) -> Site:
    """By a parameter that no list of session parameters knows."""
    return sessions("query", lambda path, token: f"{path}?walk={token}", lambda path: path.partition("?")[0], articles)


class Maze(NamedTuple):
    """Rooms with doors to further rooms, named by chance."""

    words: int  # that there are

    def __call__(self, path: str) -> Page | None:
        if not path.startswith("/maze/"):
            return None
        luck = chance("maze", path)
        names = [word(chance("maze word", luck.randrange(self.words))) for _ in range(16)]
        text = (
            f"You are in a {names[0]} room with a {names[1]} ceiling. It is quiet here, apart from a {names[2]}"
            f" sound that seems to come from the {names[3]} wall. There are doors on all sides."
            " Which will you take, traveller?"
        )
        return html(f"The {names[0]} room", text, [f"{path}{name}/" for name in names[6:11]] + [f"/maze/{names[5]}/"])


def soft_404(articles: int = ARTICLES) -> Site:
    """Whatever is not there is answered as if it were, with proposals that are not there either."""
    press = Press("soft 404", articles)
    dead = [f"/{section_of(number)}/old-{NAMES[number]}.html" for number in range(4)]

    def answer(path: str) -> Page | None:
        if path == "/":
            return press.home(*dead)
        if page := press.article(path):
            return page
        luck = chance("nothing", path)
        folder = path[: path.rfind("/") + 1]
        text = f"Sorry, there is nothing here by the name of {path}. Perhaps you were looking for one of these pages:"
        return html("Nothing found", text, [f"{folder}{word(luck)}-{word(luck)}.html" for _ in range(2)])

    return Site(answer, lambda path: path if press.wrote(path) else None, press.count)


TRAPS: Mapping[str, Callable[[], Site]] = {
    **{f"loop{period}.test": (lambda period=period: loop(period)) for period in (1, 2, 3, 4)},
    "calendar.test": calendar,
    "facets.test": facets,
    "path-sessions.test": path_sessions,
    "query-sessions.test": query_sessions,
    "maze.test": lambda: with_articles(Maze(200), "/maze/"),
    "soft-404.test": soft_404,
}
