"""A corpus of three sites by licence, counted against an independent reading of the same pages with lxml."""

import json
import re
from collections import Counter
from pathlib import Path

import lxml.html

from tests.exports.test_corpus import read
from tests.support.command_line import LOOPBACK, beamtrawl, success
from tests.support.licence_forms import FORMS, WIKIPEDIA, Form
from tests.support.web import Answer, Web, html

_RE = {"re": "http://exslt.org/regular-expressions"}
_NAMED = r"re:test(@{}, '(^|\s)([^\s]+[.:])?(license|copyright)(\s|$)', 'i')"
_ELEMENTS = (
    f"//*[self::a or self::link or self::meta][{_NAMED.format('rel')} or {_NAMED.format('property')}"
    f" or {_NAMED.format('itemprop')} or {_NAMED.format('name')} or re:test(@name, '^dc(terms)?\\.rights$', 'i')]"
    "[not(ancestor::figure) and not(ancestor::*[contains(@itemtype, 'ImageObject')])]"
    "[not(ancestor::*[@class = 'comment-list'])][not(ancestor-or-self::*[@about != '' and @about != '/page'])]"
    "[not(@type = 'application/rsl+xml')]"
)
_CC = re.compile(r"creativecommons\.org/(licenses/by[a-z-]*|publicdomain/zero)|^CC[ -]?(BY[A-Z-]*?|0)[ -][0-9.]+$")


def families(page: Form) -> str:
    """The Creative Commons licences of a page by lxml, sorted."""
    tree = lxml.html.document_fromstring(f"<html>{page.html}<p>x</html>")
    values = [each.get("href") or each.get("content") for each in tree.xpath(_ELEMENTS, namespaces=_RE)]
    for script in tree.xpath("//script[@type='application/ld+json']/text()"):
        data = json.loads(script)
        for node in data.get("@graph", [data]):
            stated = "" if node["@type"] == "ImageObject" else node.get("license", "")
            values.append(stated["name"] if isinstance(stated, dict) else stated)
    values += [value.partition(">")[0] for _, value in page.headers if "rsl" not in value]
    found = {
        match[1] or match[2]
        for value in values
        if value and (match := _CC.search(value.replace(WIKIPEDIA, "CC BY-SA 4.0")))
    }
    codes = {each.lower().rpartition("/")[2].replace("zero", "0") for each in found}
    return ", ".join(sorted("cc0" if code == "0" else f"cc-{code}" for code in codes))


def served(number: int, page: Form) -> Answer:
    text = f"<p>Page number {number} has a text of its own, about {'sand' * number} and the sea, long enough to count."
    headers = (("Content-Type", "text/html; charset=utf-8"), *page.headers)
    own = page.html.replace('about="/page"', f'about="/page{number}"')
    return Answer(200, f"<title>Page {number}</title>{own}{text}".encode(), headers)


def test_a_corpus_of_three_sites(tmp_path: Path) -> None:
    pages = list(enumerate(FORMS.values()))
    sites = {}
    for site in range(3):
        own = {f"/page{number}": served(number, form) for number, form in pages[site::3]}
        sites[f"{'abc'[site]}.test"] = own | {"/": html("Home", links=[*own])}
    with Web(sites) as web:
        seeds = [word for name in sites for word in ("--seed", web.url(name))]
        success("crawl", tmp_path / "crawl", *LOOPBACK, *seeds)
    expected = Counter(families(form) for _, form in pages)
    assert sum(expected.values()) - expected[""] > 15
    success("export", "corpus", tmp_path / "crawl", tmp_path / "all")
    card = (tmp_path / "all" / "README.md").read_text(encoding="utf-8")
    counts = {name: int(count) for name, count in re.findall(r"^\| (cc[\w, -]+) \| (\d+) \|$", card, re.MULTILINE)}
    assert counts == {name: count for name, count in expected.items() if name}
    for name in counts:
        out = tmp_path / name
        assert beamtrawl("export", "corpus", tmp_path / "crawl", out, "--license", name.replace(", ", ",")).code == 0
        wanted = {each for each in expected if each and set(each.split(", ")) <= set(name.split(", "))}
        assert len(read(out)) == sum(expected[each] for each in wanted)
    stated = success("sql", tmp_path / "crawl", "SELECT count(*) FROM documents WHERE license IS NOT NULL", "--csv")
    assert stated.splitlines()[-1] == str(sum(bool(form.license) for form in FORMS.values()))
