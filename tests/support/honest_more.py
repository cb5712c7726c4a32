"""Honest sites of other kinds: code browsers, glossaries, lists of cities, products in variants, registers, stubs.

As those of `honest_sites`: functions of a number of pages, which return every path of a site with its page.
"""

from collections.abc import Callable, Mapping

from tests.support.honest_sites import listings, page, story
from tests.support.trap_sites import COMMON_WORDS, chance, word
from tests.support.web import Page, redirect

_USEFUL = 5  # one of as many differences has news


def _differences(count: int, empty: Callable[[int], str]) -> dict[str, Page]:
    """Changes of a program in a log of 50 a page; one of five shows something new, the others what `empty` returns."""
    changes = [
        (
            f"/diff?id={chance('diff', n).getrandbits(64):016x}",
            f"{word(chance('subject', n), 3)} in {COMMON_WORDS[n % 90]}",
        )
        for n in range(count)
    ]
    site = listings("Log", changes, "All changes.", lambda at: f"/log?page={at}")
    for number, (href, _) in enumerate(changes):
        is_useful = chance("useful", number).randrange(_USEFUL) == 0
        site[href] = page("Difference", story(href) if is_useful else empty(number), [("/log?page=1", "log")])
    texts = {f"/doc/{n}": page(f"Part {n}", story("doc", n)) for n in range(8)}
    return {
        "/": page("Code", story("code"), [("/log?page=1", "log"), *((href, href) for href in texts)]),
        **site,
        **texts,
    }


_BINARY = "The two files are in a binary format and cannot be compared line by line by this program."


def differences(count: int) -> dict[str, Page]:
    """Four of five differences are copies of one page."""
    return _differences(count, lambda number: _BINARY)


def similar_differences(count: int) -> dict[str, Page]:
    """Four of five differences have the same words in another order."""
    return _differences(count, lambda number: " ".join(chance("order", number).sample(COMMON_WORDS[:40], 40)))


def glossary(count: int) -> dict[str, Page]:
    """Terms, whose title is the word in the address, explained in common words, with links to other terms."""
    names = [word(chance("term", n), 3) for n in range(count)]
    letters = {name[:2]: [other for other in names if other[:2] == name[:2]] for name in names}
    site: dict[str, Page] = {}
    for letters_, mine in letters.items():
        links = [(f"/glossary/{name}", name) for name in mine]
        site[f"/letter/{letters_}"] = page(f"Terms in {letters_}", "Choose a term.", links)
    for number, name in enumerate(names):
        rng = chance("meaning", name)
        meaning = " ".join(rng.choice(COMMON_WORDS[:60]) for _ in range(8))
        other = [(f"/glossary/{names[(number + step) % count]}", names[(number + step) % count]) for step in (1, 5)]
        site[f"/glossary/{name}"] = page(name, meaning, other)
    first = [(f"/letter/{letters_}", letters_) for letters_ in letters]
    essays = {f"/text/{n}": page(f"Text {n}", story("glossary", n)) for n in range(8)}
    return {"/": page("Glossary", story("glossary"), [*first, *((href, href) for href in essays)]), **site, **essays}


def cities(count: int) -> dict[str, Page]:
    """Cities with a title that is the word in the address and hardly any text, in a list in the same folder."""
    names = [word(chance("city", n), 3) for n in range(count)]
    links = [(f"/city/{name}", name.title()) for name in names]
    site = listings("Cities", links, "All cities.", lambda at: f"/city/?page={at}")
    for number, (href, name) in enumerate(links):
        country = COMMON_WORDS[number % 30]
        site[href] = page(name, f"A city in {country}.", [links[(number + 1) % count], ("/city/?page=1", "all")])
    essays = {f"/about/{n}": page(f"About {n}", story("cities", n)) for n in range(8)}
    home = [("/city/?page=1", "cities"), *((href, href) for href in essays)]
    return {"/": page("Cities", story("cities"), home), **site, **essays}


def product_variants(count: int) -> dict[str, Page]:
    """Products, each in five colours with addresses of their own, which differ in the colour alone."""
    colours = ("red", "green", "blue", "black", "white")
    names = [f"{word(chance('product', n), 3)}-{n}" for n in range(-(-count // 5))]
    site: dict[str, Page] = {}
    for name in names:
        text = story("product", name)
        links = [(f"/p/{name}?colour={colour}", colour) for colour in colours]
        site[f"/p/{name}"] = page(f"The {name}", text, links)
        site |= {href: page(f"The {name} in {colour}", f"{text} {colour}", links) for href, colour in links}
    products = [(f"/p/{name}", name) for name in names]
    lists = listings("Shop", products, "Our products.", lambda at: f"/shop?page={at}")
    return {"/": page("Shop", story("shop"), [("/shop?page=1", "all")]), **lists, **site}


def interface(count: int) -> dict[str, Page]:
    """Functions of an interface by module, with a page of one line each."""
    modules = [word(chance("module", n), 2) for n in range(max(2, count // 40))]
    site: dict[str, Page] = {}
    types = ("int", "str", "bytes", "bool")
    for name in modules:
        names = [f"{word(chance(name, n), 2)}_{word(chance(n, name), 2)}" for n in range(count // len(modules))]
        links = [(f"/reference/{name}/{function}.html", function) for function in names]
        site[f"/reference/{name}/"] = page(f"Module {name}", "Functions.", links)
        for number, (href, function) in enumerate(links):
            text = f"{function}(value: {types[number % 4]}) -> {types[number % 3]}"
            site[href] = page(function, text, [(f"/reference/{name}/", "up"), links[(number + 1) % len(links)]])
    return {"/": page("Reference", story("interface"), [(f"/reference/{n}/", n) for n in modules]), **site}


def stubs(count: int) -> dict[str, Page]:
    """A wiki, most of whose pages are stubs that say so, in the same words."""
    names = [word(chance("stub", n), 3).title() for n in range(count)]
    text = "This page is a stub. You can help by adding to it. It was made by a program from a list of names."
    site: dict[str, Page] = {}
    for number, name in enumerate(names):
        other = [names[(number * 3 + step) % count] for step in (1, 2, 3)]
        links = [(f"/wiki/{each}", each) for each in other]
        site[f"/wiki/{name}"] = page(name, story(name) if number % 4 == 0 else text, links)
    return {"/": page("Wiki", story("stubs"), [(f"/wiki/{name}", name) for name in names[:9]]), **site}


def versioned_wiki(count: int) -> dict[str, Page]:
    """Articles, each with a history of four versions, which differ in a sentence."""
    names = [word(chance("versioned", n), 3).title() for n in range(-(-count // 6))]
    site: dict[str, Page] = {}
    for number, name in enumerate(names):
        other = [(f"/wiki/{names[(number * 3 + step) % len(names)]}", "see") for step in (1, 2, 3)]
        versions = [(f"/history/{name}/{n}", f"version {n}") for n in range(4)]
        site[f"/wiki/{name}"] = page(name, story(name), [(f"/history/{name}", "history"), *other])
        site[f"/history/{name}"] = page(f"History of {name}", "Versions.", versions)
        for n, (href, _) in enumerate(versions):
            site[href] = page(
                f"{name}, version {n}", story(name) + f" {word(chance(name, n), 5)}" * 2, [versions[n - 1]]
            )
    return {"/": page("Wiki", story("versioned"), [(f"/wiki/{name}", name) for name in names[:9]]), **site}


def go_links(count: int) -> dict[str, Page]:
    """Texts, which lists and other texts lead to through `/go?id=`, also many times."""
    names = [word(chance("go", n), 3) for n in range(count)]
    site: dict[str, Page] = {}
    for number, name in enumerate(names):
        other = [(f"/go?id={(number + step) % count}", "see") for step in (1, 7, 50)]
        site[f"/go?id={number}"] = redirect(f"/text/{name}.html")
        site[f"/text/{name}.html"] = page(f"About {name}", story("go", name), other)
    links = [(f"/go?id={n}", f"{name} by {word(chance('writer', n % 50), 3)}") for n, name in enumerate(names)]
    site |= listings("Texts", links, "All texts.", lambda at: f"/list/{at}")
    return {"/": page("Texts", story("go"), [("/list/1", "all")]), **site}


def parts(count: int) -> dict[str, Page]:
    """A catalogue of parts by group and size, with a page of four numbers each and the sizes beside it."""
    groups = [word(chance("group", n), 3) for n in range(max(2, count // 50))]
    site: dict[str, Page] = {}
    for name in groups:
        sizes = [f"/parts/{name}/m{size}x{length}" for size in range(3, 8) for length in range(10, 60, 5)]
        links = [(href, href.rpartition("/")[2]) for href in sizes]
        site[f"/parts/{name}/"] = page(f"{name} by size", f"Sizes of {name}.", links)
        for number, (href, size) in enumerate(links):
            rng = chance("part", href)
            text = f"Order number {rng.randrange(10**6)}. Weight {rng.randrange(900)} g. Price {rng.randrange(9_000)}."
            near = [links[(number + step) % len(links)] for step in (-1, 1)]
            site[href] = page(f"{name} {size}", text, [*near, (f"/parts/{name}/", name)])
    return {"/": page("Parts", story("parts more"), [(f"/parts/{name}/", name) for name in groups]), **site}


def old_register(count: int) -> dict[str, Page]:
    """A register by year, whose entries are a name, a number and a place that others have too."""
    entries = [
        (f"/entry?id={n}", f"{word(chance('first', n % 90), 2)} {word(chance('last', n), 3)}") for n in range(count)
    ]
    site: dict[str, Page] = {}
    for year in range(20):
        mine = entries[year::20]
        site[f"/year/{1900 + year}"] = page(f"Entries of {1900 + year}", "All entries of the year.", mine)
        site |= {
            href: page(name.title(), f"Born in {COMMON_WORDS[at % 80]}. Number {1900 + year}/{at}.", [("/", "home")])
            for at, (href, name) in enumerate(mine)
        }
    links = [(f"/year/{1900 + year}", str(1900 + year)) for year in range(20)]
    return {"/": page("Register", story("register more"), links), **site}


_LATER = 3  # rounds, at most, that a crawl needs more than a walk
_DRAINED = 8  # the same, if most pages have no news and all are visited

MORE: Mapping[str, tuple[Callable[[int], dict[str, Page]], int, int]] = {
    "differences": (differences, 3_000, _DRAINED),
    "similar-differences": (similar_differences, 3_000, _DRAINED),
    "glossary": (glossary, 2_000, _LATER),
    "cities": (cities, 2_000, _LATER),
    "product-variants": (product_variants, 1_500, 2 * _LATER),
    "interface": (interface, 2_000, _LATER),
    "stubs": (stubs, 1_500, _LATER),
    "versioned-wiki": (versioned_wiki, 1_500, _LATER),
    "go-links": (go_links, 1_500, _LATER),
    "parts": (parts, 2_000, _LATER),
    "old-register": (old_register, 1_500, _LATER),
}
"""The sites, their full sizes, and the rounds that a crawl may need more than a walk."""
