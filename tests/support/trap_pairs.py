"""Traps in pairs, each with an honest twin: sites of the same URLs and templates, whose pages are worth reading.

Each trap is a site as those of `trap_sites`, each twin one as those of `honest_sites`.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from tests.support.honest_sites import page, story
from tests.support.trap_sites import SECTIONS, Press, Site, chance, word
from tests.support.trap_variants import with_links
from tests.support.web import Answer, Page, html, redirect


def _beside(
    name: str, trap: Callable[[str], Page | None], entries: Iterable[str] = (), more: Iterable[str] = ()
) -> Site:
    """Articles that each lead to `more`, with their name for a star, and a home page that leads to the entries."""
    press, more = Press(name), list(more)

    def answer(path: str) -> Page | None:
        found = press.home(*entries) if path == "/" else press.article(path)
        own = path.strip("/").replace("/", "-").removesuffix(".html") or "home"
        return with_links(found, [link.replace("*", own) for link in more]) if found else trap(path)

    return Site(answer, lambda path: path if press.wrote(path) else None, press.count)


def _honest(name: str, pages: Mapping[str, Answer]) -> dict[str, Page]:
    """A home page, ten essays, and pages that lists name."""
    links = [(path, path) for path in pages]
    essays = {f"/essay/{n}": page(f"Essay {n}", story(name, n)) for n in range(10)}
    found = {f"/list/{n}": page(f"List {n}", story(name, "list", n), links[n::10]) for n in range(10)}
    home = page(f"Home of {name}", story(name), [(path, path) for path in [*essays, *found]])
    return {"/": home, **essays, **found, **pages}


def sorry() -> Site:
    """Any path is answered: a title, its URL, 50 random words, four links to invented paths in the site's sections."""

    def trap(path: str) -> Page:
        rng = chance("sorry", path)
        text = f"We looked for {path}. " + " ".join(word(rng, 3) for _ in range(50))
        return html("Sorry", text, [f"/{rng.choice(SECTIONS)}/{word(rng)}.html" for _ in range(4)])

    return _beside("sorry", trap, [f"/{name}/lost.html" for name in SECTIONS])


def poems(count: int) -> dict[str, Page]:
    """Pages of one title and words of their own, which lead to four others."""
    names = [f"/{SECTIONS[n % 4]}/{word(chance('poem', n), 4)}.html" for n in range(count)]
    text = lambda n: " ".join(word(chance("verse", n, m), 3) for m in range(50))  # noqa: E731
    links = lambda n: [(names[(n * 4 + step) % count], "next") for step in range(1, 5)]  # noqa: E731
    return _honest("poems", {path: page("Poem", text(n), links(n)) for n, path in enumerate(names)})


_TONGUES = ("de", "en", "fr", "it")


def switch() -> Site:
    """Each page has four translations, by a prefix to the address that is shown; the first prefix decides."""
    press = Press("switch")

    def answer(url: str) -> Page | None:
        path = re.sub(rf"^(/({'|'.join(_TONGUES)}))+(?=/)", "", url)
        if (found := press.home() if path == "/" else press.article(path)) is None:
            return None
        if path != url:  # each language has words of its own
            body = re.sub(
                r"\b([a-z]{6,})\b", lambda match: f"{match[1]}{url[1:3]}", found.body.decode().split("<ul>")[0]
            )
            found = Answer(body=(body + "<ul>" + found.body.decode().split("<ul>")[1]).encode())
        return with_links(found, [f"/{name}{url}" for name in _TONGUES])

    def useful(url: str) -> str | None:
        path = re.sub(rf"^/({'|'.join(_TONGUES)})(?=/)", "", url)
        return url if press.wrote(path) else None

    return Site(answer, useful, 5 * press.count)


def languages(count: int) -> dict[str, Page]:
    """Each page has four translations, which lead to each other."""
    site: dict[str, Page] = {}
    for n in range(count // 5):
        paths = [f"{prefix}/text/{word(chance('l', n))}.html" for prefix in ("", *(f"/{name}" for name in _TONGUES))]
        site |= {path: page(story(path)[:30], story(path), [(other, other[:3]) for other in paths]) for path in paths}
    return _honest("languages", {path: found for path, found in site.items() if isinstance(found, Answer)})


def endless_pages() -> Site:
    """A listing says that it has no more entries, and leads to its next page."""

    def trap(path: str) -> Page | None:
        found = re.fullmatch(r"/archive\?page=(\d+)", path)
        return found and html("Archive", "No more entries.", [f"/archive?page={int(found[1]) + 1}", "/"])

    return _beside("endless pages", trap, ["/archive?page=40"])


def long_listing(count: int) -> dict[str, Page]:
    """A listing each page of which leads to the next only, and to texts."""
    texts = [(f"/text/{word(chance('long', n))}.html", f"text {n}") for n in range(count)]
    site = {path: page(f"About {path}", story(path)) for path, _ in texts}
    for n in range(-(-count // 50)):
        more = [(f"/archive?page={n + 1}", "next")] if (n + 1) * 50 < count else []
        site[f"/archive?page={n}"] = page("Archive", f"Page {n}.", [*texts[n * 50 : n * 50 + 50], *more])
    return {"/": page("Home", story("long"), [("/archive?page=0", "archive")]), **site}


def profiles() -> Site:
    """Each article names two of endless members, who have said nothing."""

    def trap(path: str) -> Page | None:
        name = path.removeprefix("/user/")
        more = [f"/user/{word(chance(name, n))}" for n in range(3)]
        return html("Member", f"{name} has not written anything yet.", more) if name != path else None

    return _beside("profiles", trap, more=["/user/*-a", "/user/*-b"])


def members(count: int) -> dict[str, Page]:
    """Members, who say who they are and know three others."""
    names = [f"/user/{word(chance('member', n))}" for n in range(count)]
    near = lambda n: [(names[(n * 3 + step) % count], "friend") for step in range(3)]  # noqa: E731
    return _honest("members", {path: page(f"Member {path[6:]}", story(path), near(n)) for n, path in enumerate(names)})


def logins() -> Site:
    """Each article can be changed by those who log in."""

    def trap(path: str) -> Page | None:
        if path.startswith("/edit"):
            return redirect(f"/login?next={path}")
        return html("Log in", "Your name and password, please.", ["/"]) if path.startswith("/login") else None

    return _beside("logins", trap, more=["/edit/*"])


def shortened(count: int) -> dict[str, Page]:
    """Lists lead to texts by short addresses that redirect to them."""
    texts = {f"/text/{word(chance('s', n))}": page(f"Text {n}", story("s", n)) for n in range(count)}
    short = {f"/edit/{n}": redirect(path) for n, path in enumerate(texts)}
    return {**_honest("shortened", short), **texts}


def sorted_folders() -> Site:
    """A folder of files, in any order, under eight addresses each, and folders of the same name in it."""

    def trap(path: str) -> Page | None:
        if not path.startswith("/files/"):
            return None
        folder = path.partition("?")[0]
        orders = [f"{folder}?C={column}&O={way}" for column in "NMSD" for way in "AD"]
        return html(f"Index of {folder}", "Name Last modified Size", [*orders, f"{folder}new/", f"{folder}old/"])

    return _beside("sorted folders", trap, ["/files/"])


def folders(count: int) -> dict[str, Page]:
    """Folders of texts in folders."""
    site: dict[str, Answer] = {}
    for n in range(count // 11 + 1):
        folder = f"/files/{word(chance('f', n // 5), 2)}/{word(chance('f', n))}/"
        files = [(f"{folder}{word(chance(folder, m))}.html", "file") for m in range(10)]
        site[folder] = page(f"Index of {folder}", "Name Last modified Size", files)
        site |= {path: page(f"File {path}", story(path)) for path, _ in files}
    return _honest("folders", site)


def empty_days() -> Site:
    """A timetable of any day, which says that nothing takes place, and leads to eight other days."""

    def trap(path: str) -> Page | None:
        found = re.fullmatch(r"/agenda\?day=(\d+)", path)
        near = [f"/agenda?day={int(found[1]) + step}" for step in (-30, -7, -2, -1, 1, 2, 7, 30)] if found else []
        return html(f"Day {found[1]}", "Nothing takes place on this day.", near) if found else None

    return _beside("empty days", trap, ["/agenda?day=20000"])


def busy_days(count: int) -> dict[str, Page]:
    """A timetable of so many days, on each of which something takes place."""
    days = {n: f"/agenda?day={20_000 + n}" for n in range(count)}
    near = lambda n: [(days[n + step], "day") for step in (-7, -1, 1, 7) if n + step in days]  # noqa: E731
    return _honest("busy days", {path: page(f"Day {n}", story("day", n), near(n)) for n, path in days.items()})


def old_quotes() -> Site:
    """A quotation of any number, of forty that return again and again."""

    def trap(path: str) -> Page | None:
        found = re.fullmatch(r"/quote/(\d+)", path)
        more = [f"/quote/{int(found[1]) * 3 + step}" for step in range(1, 4)] if found else []
        return html("Quotation", story("quote", int(found[1]) % 40), more) if found else None

    return _beside("old quotes", trap, ["/quote/1"])


def new_quotes(count: int) -> dict[str, Page]:
    """Quotations that are each another one."""
    paths = [f"/quote/{n}" for n in range(count)]
    near = lambda n: [(paths[(n * 3 + step) % count], "more") for step in range(1, 4)]  # noqa: E731
    return _honest("new quotes", {path: page("Quotation", story("said", n), near(n)) for n, path in enumerate(paths)})


def comparisons_of_all() -> Site:
    """Any two things are compared, in the words of both, and with any third."""
    things = [word(chance("thing", n), 3) for n in range(40)]

    def trap(path: str) -> Page | None:
        found = re.fullmatch(r"/compare\?a=(\w+)&b=(\w+)", path)
        if not found:
            return None
        text = " ".join(" ".join(story("thing", name).split()[:10]) for name in found.groups())
        more = [f"/compare?a={found[1]}&b={name}" for name in things if name != found[1]]
        more += [f"/compare?a={found[2]}&b={name}" for name in things if name != found[2]]
        return html(f"{found[1]} or {found[2]}", text, more)

    return _beside("comparisons of all", trap, [f"/compare?a={things[0]}&b={things[1]}"])


def comparisons(count: int) -> dict[str, Page]:
    """Things are compared with some that are like them, in a text of its own each time."""
    pairs = {f"/compare?a={word(chance('one', n), 3)}&b={word(chance('other', n), 3)}": n for n in range(count)}
    return _honest("comparisons", {path: page(f"Which of two {n}", story(path)) for path, n in pairs.items()})


def empty_reviews() -> Site:
    """Each section has reviews, page by page, none of which has any."""

    def trap(path: str) -> Page | None:
        found = re.fullmatch(r"/reviews/([^/?]+)\?page=(\d+)", path)
        near = [f"/reviews/{found[1]}?page={int(found[2]) + step}" for step in (1, 2)] if found else []
        return html(f"Reviews of {found[1]}", "Be the first to write a review.", near) if found else None

    return _beside("empty reviews", trap, [f"/reviews/{name}?page=1" for name in SECTIONS])


def reviews(count: int) -> dict[str, Page]:
    """Reviews, on three pages of each article."""
    names = [word(chance("reviewed", n), 3) for n in range(-(-count // 3))]
    paths = {f"/reviews/{name}?page={n}": (name, n) for name in names for n in range(1, 4)}
    near = lambda name, n: [(f"/reviews/{name}?page={n + 1}", "next")] if n < 3 else []  # noqa: E731
    found = {path: page(f"Reviews of {name}", story(path), near(name, n)) for path, (name, n) in paths.items()}
    return _honest("reviews", found)


def origins() -> Site:
    """Each article leads to two neighbours once more with its own name in a parameter, which has no effect."""
    press = Press("origins")

    def answer(url: str) -> Page | None:
        path = url.partition("?")[0]
        if (found := press.home() if path == "/" else press.article(path)) is None:
            return None
        own = path.strip("/").rpartition("/")[2].removesuffix(".html")
        near = re.findall(r'href="([^"]+\.html)"', found.body.decode())[:2]
        return with_links(found, [f"{name}?from={own}" for name in near]) if own else found

    return Site(answer, lambda url: path if press.wrote(path := url.partition("?")[0]) else None, press.count)


def journeys(count: int) -> dict[str, Page]:
    """Connections to some towns from others, which a parameter names."""
    towns = [word(chance("town", n), 3) for n in range(20)]
    paths = [f"/to/{towns[n % 20]}.html?from={towns[n // 20 % 20]}-{n}" for n in range(count)]
    return _honest("journeys", {path: page(f"Journey {n}", story("journey", n)) for n, path in enumerate(paths)})


def enlarged() -> Site:
    """Each section has a picture, in any size."""

    def trap(path: str) -> Page | None:
        found = re.fullmatch(r"/picture/([^/]+)/(\d+)x(\d+)", path)
        if not found:
            return None
        width, height = int(found[2]), int(found[3])
        sizes = [f"/picture/{found[1]}/{width + step}x{height + step}" for step in (-100, 100, 300) if step > -width]
        return html(f"Picture {found[1]}", f"{width} by {height} pixels", sizes)

    return _beside("enlarged", trap, [f"/picture/{name}/400x300" for name in SECTIONS])


def pictures(count: int) -> dict[str, Page]:
    """Pictures in two sizes, each with what can be seen in it."""
    names = [word(chance("picture", n), 3) for n in range(-(-count // 2))]
    paths = [f"/picture/{name}/{size}" for name in names for size in ("400x300", "800x600")]
    return _honest("pictures", {path: page(f"Picture {path[9:]}", story(path)) for path in paths})


PAIRS: Mapping[str, tuple[Callable[[], Site], Callable[[int], dict[str, Page]], int]] = {
    "sorry / poems": (sorry, poems, 500),
    "switch / languages": (switch, languages, 500),
    "endless pages / long listing": (endless_pages, long_listing, 300),
    "profiles / members": (profiles, members, 500),
    "logins / shortened": (logins, shortened, 300),
    "sorted folders / folders": (sorted_folders, folders, 400),
    "empty days / busy days": (empty_days, busy_days, 400),
    "old quotes / new quotes": (old_quotes, new_quotes, 500),
    "comparisons of all / comparisons": (comparisons_of_all, comparisons, 400),
    "empty reviews / reviews": (empty_reviews, reviews, 450),
    "origins / journeys": (origins, journeys, 400),
    "enlarged / pictures": (enlarged, pictures, 400),
}
"""Traps, their twins, and the sizes of these."""
