"""Traps of servers that answer any address: in words of the address, by chance, with the page of a part of it.

Each is a site as those of `trap_sites`.
"""

import itertools
import re
from collections.abc import Callable, Mapping

from tests.support.trap_sites import ARTICLES, NAMES, SECTIONS, Press, Site, article_path, chance, section_of, word
from tests.support.trap_variants import with_links
from tests.support.web import Answer, Page, html, redirect

_LANGUAGES = ("de", "en", "fr")


def _beside_articles(name: str, trap: Callable[[str], Page | None], *entries: str, articles: int = ARTICLES) -> Site:
    """Articles, and a home page that also leads into a trap, where nothing is worth reading."""
    press = Press(name, articles)

    def answer(path: str) -> Page | None:
        return press.home(*entries) if path == "/" else press.article(path) or trap(path)

    return Site(answer, lambda path: path if press.wrote(path) else None, press.count)


def own_words(articles: int = ARTICLES) -> Site:
    """What is not there is named in a title and a text of its address, with four links relative to it."""

    def trap(path: str) -> Page:
        names = re.findall(r"[a-z]+", path) or ["it"]
        more = [f"{word(chance(path, n))}/" for n in range(2)]
        links = [*more, f"{names[-1]}/index.html", "help/"]
        return html(f"Nothing by the name of {' '.join(names)}", f"We looked for {' in '.join(names)}.", links)

    gone = [f"/{name}/gone-{NAMES[n]}" for n, name in enumerate(SECTIONS)]
    return _beside_articles("own words", trap, *gone, articles=articles)


def four_sections() -> Site:
    """The same with the same four links in each page."""

    def trap(path: str) -> Page:
        names = [name.removesuffix(".html") for name in path.strip("/").split("/")]
        text = f"The page {' '.join(names)} was moved or renamed."
        return html(" ".join(names), text, ["about/", "contact/", "help/index.html", "terms/"])

    return _beside_articles("four sections", trap, *(f"/{name}/lost/" for name in SECTIONS))


def base_levels() -> Site:
    """A base element a level deeper than each page makes its three links lead ever deeper."""

    def trap(path: str) -> Page | None:
        if not path.startswith("/product"):
            return None
        items = "".join(f'<li><a href="{name}/">{name}</a>' for name in ("size", "colour", "price"))
        names = " ".join(path.strip("/").split("/"))
        text = f"Choose a size, a colour or a price of {names}."
        step = word(chance("step", path))
        body = f'<title>Choice of {names}</title><base href="{path}{step}/"><p>{text}</p><ul>{items}</ul>'
        return Answer(body=body.encode())

    return _beside_articles("base levels", trap, "/product/")


def base_copies() -> Site:
    """The same on each page of a site, whose server ignores the levels: all pages below are copies."""
    press = Press("base copies")
    clean = lambda url: re.sub(r"^(/\w+)*?(?=/(news|guides|people|places)/[^/]*$|/$)", "", url)  # noqa: E731

    def answer(url: str) -> Page | None:
        path = clean(url)
        page = press.home() if path == "/" else press.article(path)
        if page is None:
            return None
        levels = url[: len(url) - len(path) + 1]
        links = "".join(f'<a href="{name}/">{name}</a>' for name in SECTIONS)
        return Answer(body=f'<base href="{levels}{word(chance(url))}/">'.encode() + page.body + links.encode())

    return Site(answer, lambda url: clean(url) if press.wrote(clean(url)) else None, press.count)


def random_texts() -> Site:
    """Whatever is not there is answered by a page of random words, with links to three more."""

    def trap(path: str) -> Page:
        rng = chance("nothing", path)
        text = " ".join(word(rng, 3) for _ in range(50))
        folder = path[: path.rfind("/") + 1]
        links = [f"{folder}{word(rng)}-{word(rng)}.html" for _ in range(3)]
        return html(f"{word(rng)} {word(rng)}", text, links)

    dead = [f"/{section_of(number)}/old-{NAMES[number]}.html" for number in range(4)]
    return _beside_articles("random texts", trap, *dead)


def stacked_languages() -> Site:
    """Each page leads to its translations by a folder before its address, whatever stands there already."""
    press = Press("stacked languages")
    clean = lambda url: re.sub(rf"^(/({'|'.join(_LANGUAGES)}))+(?=/)", "", url)  # noqa: E731

    def answer(url: str) -> Answer | None:
        path = clean(url)
        if (page := press.home() if path == "/" else press.article(path)) is None:
            return None
        before = url[: len(url) - len(path)]
        body = re.sub(r'href="/', f'href="{before}/', page.body.decode())
        menu = "".join(f'<a href="/{name}{url}">{name}</a>' for name in _LANGUAGES if f"/{name}" != before)
        return Answer(body=body.encode() + menu.encode())

    return Site(answer, lambda url: clean(url) if press.wrote(clean(url)) else None, press.count)


def path_info() -> Site:
    """Programs that ignore what follows their name, and one link too many with a slash at its end."""
    press = Press("path info")
    paths = {article_path(n).replace(".html", ".php"): article_path(n) for n in range(len(NAMES))}

    def clean(url: str) -> str:
        return re.sub(r"(?<=\.php)/.*", "", url)

    def answer(url: str) -> Answer | None:
        path = clean(url)
        page = press.home() if path == "/" else press.article(paths.get(path, path))
        if page is None:
            return None
        body = page.body.decode().replace(".html", ".php")
        if path in paths:
            folder = path[: path.rfind("/") + 1]
            near = [name.removeprefix(folder) for name in re.findall(r'href="(/[^"]+\.php)"', body) if folder in name]
            body += "".join(f'<a href="{name}">near</a><a href="{name}/more/">more</a>' for name in near[:2])
        return Answer(body=body.encode())

    def useful(url: str) -> str | None:
        path = clean(url)
        return path if press.wrote(paths.get(path, path)) and not path.endswith(".html") else None

    return Site(answer, useful, press.count)


def fresh_redirects(link: Callable[[str, str], str]) -> Site:
    """Each page leads to addresses that redirect to it, with a session of its own each time."""
    press, views = Press(f"fresh redirects {link('/', '')}"), itertools.count()

    def clean(url: str) -> str:
        return re.sub(r"^/in/\w+", "", url.partition("?")[0]).removeprefix("/open")

    def answer(url: str) -> Page | None:
        path = clean(url)
        page = press.home() if path == "/" else press.article(path)
        if page is None:
            return None
        if url.startswith("/open/"):
            return redirect(link(path, f"{chance('session', next(views)).getrandbits(64):016x}"))
        return with_links(page, [f"/open{name}" for name in re.findall(r'href="(/[^"]+)"', page.body.decode())])

    return Site(answer, lambda url: clean(url) if press.wrote(clean(url)) else None, press.count)


def session_in_session() -> Site:
    """Each page puts the sessions in which it was shown, and a link that asks for another one, into its links."""
    press, views = Press("session in session"), itertools.count()
    clean = lambda url: re.sub(r"^/(new|s/\w+)(?=/)", "", url)  # noqa: E731

    def answer(url: str) -> Page | None:
        path = clean(url)
        page = press.home() if path == "/" else press.article(path)
        if page is None:
            return None
        if url.startswith("/new/"):
            return redirect(f"/s/{chance('session', next(views)).getrandbits(64):016x}{path}")
        before = url[: len(url) - len(path)]
        body = re.sub(r'href="/', f'href="{before}/', page.body.decode())
        return with_links(Answer(body=body.encode()), [f"/new{path}"])

    return Site(answer, lambda url: clean(url) if press.wrote(clean(url)) else None, press.count)


ANSWERS: Mapping[str, Callable[[], Site]] = {
    "own-words.test": own_words,
    "four-sections.test": four_sections,
    "base-levels.test": base_levels,
    "base-copies.test": base_copies,
    "random-texts.test": random_texts,
    "stacked-languages.test": stacked_languages,
    "path-info.test": path_info,
    "fresh-redirects.test": lambda: fresh_redirects(lambda path, token: f"{path}?walk={token}"),
    "fresh-redirects-paths.test": lambda: fresh_redirects(lambda path, token: f"/in/{token}{path}"),
    "session-in-session.test": session_in_session,
}
