"""Honest sites that look like traps: uniform templates, numbers and dates in URLs, long listings (docs/traps.md).

Each function takes the number of pages that it is about, and returns every path of the site with its page.
`reach` is the walk that a crawl of them is compared with.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from html import escape, unescape

from tests.support.trap_sites import COMMON_WORDS, chance, word
from tests.support.web import Answer, Page

Link = tuple[str, str]  # href, anchor text
_HREF = re.compile(rb'href="([^"]+)"')


def page(title: str, text: str, links: Iterable[Link] = ()) -> Answer:
    items = "".join(f'<li><a href="{escape(href)}">{escape(anchor)}</a>' for href, anchor in links)
    body = f"<!doctype html><title>{escape(title)}</title><h1>{escape(title)}</h1><p>{escape(text)}</p><ul>{items}</ul>"
    return Answer(body=body.encode())


def reach(site: Mapping[str, Page], most: int = 100_000) -> dict[str, int]:
    """The round in which a breadth-first walk without any judgement fetches each path, from 1."""
    found, due, number = {"/": 1}, ["/"], 1
    while due and len(found) < most:
        number += 1
        links = (target for path in due if (answer := site.get(path)) for target in links_of(answer))
        due = [target for target in dict.fromkeys(links) if target not in found]
        found |= dict.fromkeys(due, number)
    return found


def links_of(answer: Page) -> list[str]:
    assert isinstance(answer, Answer)
    redirects = [value for name, value in answer.headers if name == "Location"]
    return [*redirects, *(unescape(href.decode()) for href in _HREF.findall(answer.body))]


def story(*seed: object) -> str:
    """A text of common words, and of some that only it has."""
    rng = chance("story", *seed)
    words = [*(rng.choice(COMMON_WORDS) for _ in range(60)), *(word(rng, 5) for _ in range(6))]
    rng.shuffle(words)
    return " ".join(words)


_TEMPLATE = " ".join(COMMON_WORDS[100:160])
_PER_PAGE = 50


def listings(folder: str, paths: list[Link], text: str, link: Callable[[int], str]) -> dict[str, Page]:
    """Pages of a listing, 50 entries each; the first leads to all others."""
    count = -(-len(paths) // _PER_PAGE)
    numbers = [(link(number), str(number)) for number in range(1, count + 1)]
    return {
        link(number): page(
            f"{folder}", text, [*paths[(number - 1) * _PER_PAGE : number * _PER_PAGE], *numbers, ("/", "home")]
        )
        for number in range(1, count + 1)
    }


def _shop(count: int, path: Callable[[int, str], str], root: str = "/") -> dict[str, Page]:
    """Categories, paged listings, and products whose names are made of few words.

    Shops with different paths have different products: equal ones would be mirrors of each other, and a crawl that
    finds that out fetches only one of them.
    """
    rng = chance("shop", count, path(0, ""), root)
    adjectives, nouns = COMMON_WORDS[:30], COMMON_WORDS[30:80]
    names = [f"{rng.choice(adjectives)} {rng.choice(nouns)} {number}" for number in range(count)]
    products = [(path(number, name.replace(" ", "-")), name) for number, name in enumerate(names)]
    site: dict[str, Page] = {}
    categories = max(1, count // 150)
    for number in range(categories):
        folder = f"{root}category/{COMMON_WORDS[200 + number]}"
        mine = products[number::categories]
        link = lambda at, folder=folder: folder if at == 1 else f"{folder}?page={at}"  # noqa: E731
        site |= listings(f"Category {COMMON_WORDS[200 + number]}", mine, "All that we have in this category.", link)
    for number, (href, name) in enumerate(products):
        near = [products[(number + step) % count] for step in (1, 7)]
        price = f"{rng.randrange(100, 99999) / 100:.2f}"
        site[href] = page(name, f"{name}. Price: {price} euros. In stock: {rng.randrange(99)}. {_TEMPLATE}", near)
    folders = [
        (f"{root}category/{COMMON_WORDS[200 + number]}", COMMON_WORDS[200 + number]) for number in range(categories)
    ]
    return {root: page("The shop", story("shop", path(0, "")), folders), **site}


def shop_with_names(count: int) -> dict[str, Page]:
    return _shop(count, lambda number, name: f"/product/{name}")


def shop_with_numbers(count: int) -> dict[str, Page]:
    return _shop(count, lambda number, name: f"/item/{48_000 + number}")


def shop_at_the_root(count: int) -> dict[str, Page]:
    return _shop(count, lambda number, name: f"/{name}")


def forum(count: int) -> dict[str, Page]:
    site: dict[str, Page] = {}
    boards = 10
    for board in range(boards):
        threads = [(f"/thread/{n}", f"{word(chance('t', n))} {n}") for n in range(board, count, boards)]
        link = lambda at, board=board: f"/board/{board}" if at == 1 else f"/board/{board}?page={at}"  # noqa: E731
        site |= listings(f"Board {board}", threads, "The threads of this board.", link)
        site |= {href: page(name, story(href), [(f"/board/{board}", "board")]) for href, name in threads}
    return {"/": page("Forum", story("forum"), [(f"/board/{n}", f"Board {n}") for n in range(boards)]), **site}


def newspaper(count: int) -> dict[str, Page]:
    days = [f"/{2024 + n // 336}/{n // 28 % 12 + 1:02}/{n % 28 + 1:02}" for n in range(-(-count // 4))]
    site: dict[str, Page] = {}
    for number, day in enumerate(days):
        articles = [(f"{day}/{word(chance(day, n))}", word(chance(day, n, "t"))) for n in range(4)]
        site |= {href: page(name, story(href), [(day, "that day")]) for href, name in articles}
        near = [(days[(number + step) % len(days)], days[(number + step) % len(days)]) for step in (-1, 1)]
        site[day] = page(f"News of {day[1:]}", "What happened on this day.", [*articles, *near])
    months = dict.fromkeys(day[:8] for day in days)
    for month in months:
        site[month] = page(f"Month {month[1:]}", "All days.", [(day, day[1:]) for day in days if day.startswith(month)])
    return {"/": page("The paper", story("paper"), [(month, month[1:]) for month in months]), **site}


def directory(count: int) -> dict[str, Page]:
    """People under ?id=, by town."""
    rng = chance("people")
    names = [f"{word(rng, 2)} {word(rng, 3)}".title() for _ in range(count)]
    towns = [word(chance("town", n), 3).title() for n in range(max(2, count // 100))]
    people = [(f"/person?id={number}", name) for number, name in enumerate(names)]
    site: dict[str, Page] = {
        f"/town?name={town}": page(town, f"Who lives in {town}.", people[number :: len(towns)])
        for number, town in enumerate(towns)
    }
    for number, (href, name) in enumerate(people):
        site[href] = page(name, f"{name} lives in {towns[number % len(towns)]}. Telephone: {rng.randrange(10**6)}.")
    return {"/": page("Directory", story("people"), [(f"/town?name={town}", town) for town in towns]), **site}


def register(count: int) -> dict[str, Page]:
    """Parcels that differ in numbers alone, under ?id=."""
    rng = chance("parcels")
    parcels = [(f"/parcel?id={number}", f"Parcel {number}") for number in range(1, count + 1)]
    site = listings("Parcels", parcels, "All parcels.", lambda at: f"/list?page={at}")
    for href, name in parcels:
        site[href] = page(name, f"Area: {rng.randrange(100, 999)} m2. Section {rng.randrange(20)}. {_TEMPLATE}")
    return {"/": page("Land register", story("land"), [("/list?page=1", "All parcels")]), **site}


def catalogue(count: int) -> dict[str, Page]:
    """Parts that all read the same but for three words, which other parts have too."""
    rng = chance("parts")
    parts = [(f"/parts/{rng.choice('abcdef')}{n}.html", f"Part {n}") for n in range(count)]
    site = listings("Parts", parts, "Our parts.", lambda at: f"/catalogue/{at}.html")
    for href, name in parts:
        made = f"{rng.choice(COMMON_WORDS[:40])} {rng.choice(COMMON_WORDS[40:80])} {rng.randrange(100)}"
        site[href] = page(name, f"Made of {made} kg. {_TEMPLATE}", [("/catalogue/1.html", "all")])
    return {"/": page("Catalogue", story("parts"), [("/catalogue/1.html", "all")]), **site}


def reference(count: int) -> dict[str, Page]:
    """An API: classes and their near-uniform members, which name each other."""
    classes = [word(chance("class", n), 3).title() for n in range(max(2, count // 25))]
    site: dict[str, Page] = {}
    for number, name in enumerate(classes):
        members = [f"{word(chance(name, n), 2)}_{word(chance(name, n, 2), 2)}" for n in range(count // len(classes))]
        links = [(f"/api/method.{name}.{member}.html", member) for member in members]
        base = classes[number // 2]
        site[f"/api/class.{name}.html"] = page(
            f"Class {name}", f"{name} derives from {base}.", [*links, (f"/api/class.{base}.html", base)]
        )
        for href, member in links:
            text = f"{name}.{member}: returns the value. {_TEMPLATE}"
            site[href] = page(f"{name}.{member}", text, [(f"/api/class.{name}.html", name)])
    return {"/": page("API", story("api"), [(f"/api/class.{name}.html", name) for name in classes]), **site}


def gallery(count: int) -> dict[str, Page]:
    """Pictures, which have numbers and no words; beside them a few essays."""
    photos = [(f"/photo/{number}", f"{number}") for number in range(count)]
    site = listings("Album", photos, "Pictures.", lambda at: f"/album/{at}")
    site |= {href: page(f"Photo {name}", "", [("/album/1", "album")]) for href, name in photos}
    essays = [(f"/essay/{n}", f"essay {n}") for n in range(8)]
    site |= {href: page(name, story(href)) for href, name in essays}
    return {"/": page("Gallery", story("gallery"), [("/album/1", "Album"), *essays]), **site}


def timetable(count: int) -> dict[str, Page]:
    """Lines and their stops; the times of one are those of another in another order."""
    stops = 40
    names = [word(chance("stop", n), 3).title() for n in range(120)]
    site: dict[str, Page] = {}
    lines = -(-count // stops)
    for line in range(lines):
        rng = chance("line", line)
        mine = rng.sample(range(120), stops)
        links = [(f"/stop/{line}/{n}", names[n]) for n in mine]
        site[f"/line/{line}"] = page(f"Line {line}", f"Runs from {names[mine[0]]} to {names[mine[-1]]}.", links)
        for at, (href, name) in zip(mine, links, strict=True):
            times = " ".join(f"{hour}:{(at * 7 + line) % 60:02}" for hour in range(5, 24))
            near = [links[(mine.index(at) + 1) % stops]]
            site[href] = page(f"{name}, line {line}", f"Departures: {times}.", near)
    return {"/": page("Timetable", story("time"), [(f"/line/{n}", f"Line {n}") for n in range(lines)]), **site}


def wiki(count: int) -> dict[str, Page]:
    names = [word(chance("wiki", n), 3) + str(n) for n in range(count)]
    site: dict[str, Page] = {}
    for number, name in enumerate(names):
        rng = chance("links", number)
        to = [names[(number * 3 + 1) % count], names[(number * 3 + 2) % count], names[(number * 3 + 3) % count]]
        to += [rng.choice(names) for _ in range(6)]
        site[f"/wiki/{name}"] = page(name, story(name), [(f"/wiki/{other}", other) for other in to])
    return {"/": page("Wiki", story("wiki"), [(f"/wiki/{name}", name) for name in names[:9]]), **site}


def company(count: int) -> dict[str, Page]:
    """A site of texts with a shop of numbers in a folder."""
    shop = _shop(count, lambda number, name: f"/shop/item?id={number}", "/shop/")
    texts = {f"/about/{word(chance('c', n))}.html": page(f"Text {n}", story("company", n)) for n in range(count // 3)}
    links = [(path, path) for path in texts]
    return {"/": page("Company", story("company"), [*links, ("/shop/", "Shop")]), **shop, **texts}


def moved(count: int) -> dict[str, Page]:
    """Old addresses that all say the same, and lead to the new ones."""
    old = [(f"/old/{word(chance('old', n))}.html", f"text {n}") for n in range(count)]
    site: dict[str, Page] = {}
    text = "This page has moved. Please follow the link to its new address, and change your bookmark."
    for number, (href, _) in enumerate(old):
        new = f"/new/{word(chance('new', number))}.html"
        site[href] = page("Moved", text, [(new, "new address")])
        site[new] = page(f"About {word(chance('about', number))}", story(new), [("/", "home")])
    return {"/": page("Archive", story("archive"), old), **site}


def categories(count: int) -> dict[str, Page]:
    """Twenty categories with one introduction, which differ in what they lead to."""
    site: dict[str, Page] = {}
    text = "Welcome to our collection. Choose a piece from the list to learn more about it, and where to see it."
    folders = [(f"/collection/{word(chance('folder', n), 2)}/", f"part {n}") for n in range(20)]
    for number, (folder, _) in enumerate(folders):
        pieces = [(f"/piece/{word(chance('piece', number, n))}", "piece") for n in range(count // 20)]
        site[folder] = page("Collection", text, pieces)
        site |= {href: page(f"Piece {href[7:]}", story(href)) for href, _ in pieces}
    return {"/": page("Museum", story("museum"), folders), **site}


HONEST: Mapping[str, tuple[Callable[[int], dict[str, Page]], int]] = {
    "shop-names": (shop_with_names, 3000),
    "shop-numbers": (shop_with_numbers, 3000),
    "shop-root": (shop_at_the_root, 1000),
    "forum": (forum, 5000),
    "newspaper": (newspaper, 2000),
    "directory": (directory, 2000),
    "register": (register, 1500),
    "catalogue": (catalogue, 1500),
    "reference": (reference, 2500),
    "gallery": (gallery, 1000),
    "timetable": (timetable, 1600),
    "wiki": (wiki, 1500),
    "company": (company, 600),
    "moved": (moved, 50),
    "categories": (categories, 200),
}
"""The sites, and their full sizes."""
