"""Honest sites that look like the traps of `trap_variants` and `trap_growth`: translations, archives, tags, redirects.

As those of `honest_sites`: functions of a number of pages, which return every path of a site with its page.
"""

from collections.abc import Callable, Mapping

from tests.support.honest_sites import page, story
from tests.support.trap_sites import chance, word
from tests.support.web import Page, redirect

_LANGUAGES = ("de", "fr")


def translations(count: int) -> dict[str, Page]:
    """Each page has translations in a folder before its path; the folders have home pages of their own."""
    names = [f"/{section}/{word(chance('tr', n))}.html" for n in range(count) for section in (("art", "life")[n % 2],)]
    site: dict[str, Page] = {}
    for language in ("", *(f"/{name}" for name in _LANGUAGES)):
        others = [other for other in ("", *(f"/{name}" for name in _LANGUAGES)) if other != language]
        sections = {
            part: [(language + name, name) for name in names if name.startswith(part)] for part in ("/art/", "/life/")
        }
        home = [(language + part, part) for part in sections]
        site[language + "/"] = page(f"Home {language}", story(language), [*home, *((f"{o}/", o) for o in others)])
        for part, mine in sections.items():
            translated = [(other + part, other) for other in others]
            site[language + part] = page(f"{part} {language}", story(language, part), [*mine, *translated])
            for href, name in mine:
                links = [(other + name, other) for other in others]
                site[href] = page(f"{word(chance('title', href))}", story(href), [*links, (language + part, part)])
    return site


def archive_by_time(count: int) -> dict[str, Page]:
    """Messages under the second at which they were sent, each of which leads to the next."""
    times = [
        f"/mail/2026-{n // 28 % 12 + 1:02}-{n % 28 + 1:02}T{n % 24:02}-{n * 7 % 60:02}-{n * 13 % 60:02}"
        for n in range(count)
    ]
    site: dict[str, Page] = {}
    months = sorted({time[:13] for time in times})
    for month in months:
        mine = [(time, time[6:]) for time in times if time.startswith(month)]
        site[month] = page(f"Messages of {month[6:]}", "All messages of this month.", mine)
    for number, time in enumerate(times):
        near = [(times[(number + step) % count], name) for step, name in ((1, "next"), (-1, "previous"))]
        site[time] = page(f"Message of {word(chance('sender', number % 40))}", story(time), near)
    return {"/": page("Mailing list", story("mail"), [(month, month) for month in months]), **site}


def tag_cloud(count: int) -> dict[str, Page]:
    """Pages of texts by tag, which say nothing of their own, and lead to the tags that their texts also have."""
    tags = [word(chance("tag", n), 2) + str(n) for n in range(max(10, count // 4))]
    texts = {f"/text/{word(chance('text', n))}.html": chance("tags", n).sample(tags, 3) for n in range(count)}
    site: dict[str, Page] = {}
    for name in tags:
        mine = {href: has for href, has in texts.items() if name in has}
        near = dict.fromkeys(other for has in mine.values() for other in has)
        links = [*((href, href[6:-5]) for href in mine), *((f"/tags/{other}", other) for other in near)]
        site[f"/tags/{name}"] = page(f"Texts about {name}", f"{len(mine)} texts.", links)
    for href, has in texts.items():
        site[href] = page(f"About {href[6:-5]}", story(href), [(f"/tags/{name}", name) for name in has])
    first = [(f"/tags/{name}", name) for name in tags[:10]]
    return {"/": page("Texts", story("texts"), first), **site}


def counted_links(count: int) -> dict[str, Page]:
    """All links go through a counter, which redirects to the page, by way of its old address."""
    site: dict[str, Page] = {}
    for number in range(count):
        name = word(chance("counted", number))
        site[f"/out/{number}"] = redirect(f"/old/{name}")
        site[f"/old/{name}"] = redirect(f"/text/{name}.html")
        site[f"/text/{name}.html"] = page(f"About {name}", story(name), [("/", "home")])
    lists = {f"/list/{n}": [(f"/out/{m}", f"text {m}") for m in range(n, count, 20)] for n in range(20)}
    site |= {path: page(f"List {path[6:]}", story(path), links) for path, links in lists.items()}
    return {"/": page("Links", story("links"), [(path, path) for path in lists]), **site}


def printed(count: int) -> dict[str, Page]:
    """Reports, each with a page of data below its own path, which has other numbers and no other words."""
    site: dict[str, Page] = {}
    names = [f"/report/{word(chance('report', n))}" for n in range(count)]
    for href in names:
        site[href] = page(f"Report {href[8:]}", story(href), [(f"{href}/data", "data"), (f"/chart{href}", "chart")])
        for kind, path in (("Data", f"{href}/data"), ("Chart", f"/chart{href}")):
            values = " ".join(str(chance(path, n).randrange(10**6)) for n in range(40))
            site[path] = page(f"{kind} of {href[8:]}", values, [(href, "report")])
    return {"/": page("Reports", story("reports"), [(href, href[8:]) for href in names]), **site}


TRANSLATED = {"en": 100, "fr": 94, "ko": 44, "ja": 38, "tr": 33, "es": 11, "de": 9, "zh": 7, "pt": 2, "ru": 1, "da": 1}
"""The languages of `manual`, and the share of its pages in each of them, in percent."""


def manual(count: int) -> dict[str, Page]:
    """A manual in a folder for each language, in which pages that are not translated are copies of the English ones.

    Pages name their translations; all other links stay in the folder.
    """
    names = [f"{('mod', 'howto', 'misc', 'programs')[n % 4]}/{word(chance('manual', n))}.html" for n in range(count)]
    site: dict[str, Page] = {}
    for number, name in enumerate([*names, "index.html", "sitemap.html"]):
        up = "../" * name.count("/")
        known = [one for one, share in TRANSLATED.items() if up == "" or chance(name, one).randrange(100) < share]
        near = [(up + names[(number + step) % count], "see also") for step in (1, 2, 7)] if up else []
        near += [(other, other) for other in names] if name == "sitemap.html" else [(f"{up}sitemap.html", "all")]
        links = [*near, *((f"{up}../{one}/{name}", one) for one in known)]
        pages = {one: page(f"{one} {name}", story(one, name), links) for one in known}
        site |= {f"/{one}/{name}": pages.get(one, pages["en"]) for one in TRANSLATED}
    return {"/": redirect("/en/index.html"), **site}


VARIANTS: Mapping[str, tuple[Callable[[int], dict[str, Page]], int]] = {
    "translations": (translations, 400),
    "archive-by-time": (archive_by_time, 1200),
    "tag-cloud": (tag_cloud, 600),
    "counted-links": (counted_links, 900),
    "printed": (printed, 400),
}
"""The sites, and their full sizes."""
