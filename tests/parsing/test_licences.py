"""The licence that a page states, against forms of real publishers, and the family of a licence."""

import json
from typing import Any

from hypothesis import given, strategies as st

from beamtrawl.transforms.parsing.html_page import parse_page
from beamtrawl.transforms.parsing.source import Page
from beamtrawl.transforms.rights.licences import FAMILIES, Licence, families, family, is_among
from tests.support.licence_forms import CC, FORMS
from tests.support.tables import each_row

URL = "http://a.test/page"


def parsed(body: str, media_type: str = "text/html", headers: tuple[tuple[str, str], ...] = ()) -> Page:
    page = parse_page(body.encode(), URL, f"{media_type}; charset=utf-8", headers, "Bot/1", ("html", "text", "feed"))
    assert page is not None
    return page


@each_row(FORMS)
def test_what_publishers_write(
    html: str, licence: str, source: str, of_family: str, headers: tuple[tuple[str, str], ...]
) -> None:
    assert parsed(html, headers=headers).licence == Licence(licence, source)
    assert families(licence) == set(of_family.split())


RSS = '<rss version="2.0" xmlns:creativeCommons="http://backend.userland.com/creativeCommonsRSSModule"'
# feed, the licence that it states
FEEDS = {
    "twit.tv": (
        f"{RSS}><channel><title>T</title><creativeCommons:license>http://{CC}/by-nc-nd/4.0/</creativeCommons:license>"
        "<item><title>A</title></item></channel></rss>",
        f"http://{CC}/by-nc-nd/4.0/",
    ),
    "an episode of its own": (
        f"{RSS} xmlns:podcast='https://podcastindex.org/namespace/1.0'><channel><podcast:license url='http://{CC}/by/4.0/'>"
        f"cc-by-4.0</podcast:license><item><creativeCommons:license>\n https://{CC}/by-nc-sa/4.0/\n"
        "</creativeCommons:license></item></channel></rss>",
        f"cc-by-4.0, https://{CC}/by-nc-sa/4.0/",
    ),
    "RSS 1.0 (wiki.creativecommons.org)": (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:cc="http://creativecommons.org/ns#">'
        f'<channel><title>Meerkat</title><cc:license rdf:resource="http://{CC}/by/1.0/" /></channel></rdf:RDF>',
        f"http://{CC}/by/1.0/",
    ),
    "Hubzilla (Atom, RFC 4946)": (
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><rights>© me</rights>'
        f'<link rel="license" href="http://{CC}/by/3.0/" /></feed>',
        f"http://{CC}/by/3.0/",
    ),
    "RSL in a feed": (
        f'{RSS} xmlns:rsl="https://rslstandard.org/rsl"><channel><rsl:content url="/"><rsl:license><rsl:permits'
        ' type="usage">search</rsl:permits></rsl:license></rsl:content><title>T</title></channel></rss>',
        "",
    ),
}


@each_row(FEEDS)
def test_feeds(feed: str, licence: str) -> None:
    sources = ", ".join("feed" for part in licence.split(", ") if part)
    assert parsed(feed, "application/xml").licence == Licence(licence, sources)


# a licence: its family
LICENCES = {
    **{f"https://{CC}/{code}/4.0/deed.de": f"cc-{code}" for code in ("by", "by-sa", "by-nd", "by-nc", "by-nc-sa")},
    f"http://{CC}/by-nd-nc/1.0/": "cc-by-nc-nd",
    f"http://www.{CC}/by-nc/2.5/rdf": "cc-by-nc",
    "creativecommons.org/publicdomain/zero/1.0/": "cc0",
    "https://creativecommons.org/publicdomain/mark/1.0/": "public-domain",
    f"https://{CC}/sampling+/1.0/": "",
    f"https://{CC}/by-unknown/1.0/": "",
    "https://creativecommons.org/choose/": "",
    "https://a.test/?creativecommons.org/licenses/by/4.0/": "",
    "CC-BY-SA-3.0-DE": "cc-by-sa",
    "cc_by_4.0": "cc-by",
    "CC BY-NC-SA 3.0 IGO": "cc-by-nc-sa",
    "CC0 1.0 Universal": "cc0",
    "Creative Commons Attribution-NonCommercial-NoDerivatives 4.0 International License": "cc-by-nc-nd",
    "Attribution 4.0 International (CC BY 4.0)": "cc-by",
    "Attribution 4.0 International (CC BY-NC 4.0)": "",
    "CC BY or CC BY-NC": "",
    "CC BY, but for training": "",
    "CC": "",
    "Attribution required": "",
    "MIT OR Apache-2.0": "",
    "https://spdx.org/licenses/CC-BY-4.0.html": "cc-by",
    "https://choosealicense.com/licenses/unlicense/": "public-domain",
    "http://www.opensource.org/licenses/mit-license.php": "mit",
    "https://www.apache.org/licenses/LICENSE-2.0": "apache",
    "https://www.gnu.org/licenses/fdl-1.3.en.html": "gfdl",
    "GNU General Public License v3.0": "gpl",
    "AGPL-3.0-or-later": "agpl",
    "BSD-3-Clause": "bsd",
    "https://www.mozilla.org/en-US/MPL/2.0/": "mpl",
    "Proprietary": "",
    "": "",
}


def test_families() -> None:
    assert {licence: family(licence) for licence in LICENCES} == LICENCES
    assert {family(name) for name in FAMILIES} == set(FAMILIES)


def test_what_is_asked_for_is_all_that_is_stated() -> None:
    both = f"http://{CC}/by/4.0/, http://{CC}/by-nc/4.0/"
    assert [is_among(both, wanted) for wanted in (["cc-by"], ["cc-by-nc"], ["cc-by", "cc-by-nc"])] == [
        False,
        False,
        True,
    ]
    assert is_among(f"http://a.test/terms, http://{CC}/by/4.0/", ["cc-by"])
    assert not any(is_among(licence, FAMILIES) for licence in ("", "http://a.test/terms", "All rights reserved"))


def test_a_changed_licence_is_a_changed_page() -> None:
    text = "<p>" + "A sentence that is long enough to be compared. " * 3
    digests = {parsed(f"{head}{text}").digest for head in ("", *(form.html for form in list(FORMS.values())[:2]))}
    assert len(digests) == 3


@given(st.text(max_size=200) | st.lists(st.sampled_from(["cc", "by", "-", "nc", "(", "1.0", "mit"])).map("".join))
def test_any_text_has_a_family_or_none(text: str) -> None:
    assert family(text) in {"", *FAMILIES}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["@type", "@graph", "license", "url", "x"]), inner),
)


@given(JSON, st.text(), st.sampled_from(["rel=license href", "itemprop=license content", "rel=license about"]))
def test_whatever_a_page_states_is_stored_in_one_order(data: Any, text: str, attribute: str) -> None:
    value = text.replace('"', "").encode("utf-8", "replace").decode()
    html = f'<a {attribute}="{value}">x</a><script type="application/ld+json">{json.dumps(data)}</script>'
    found = parsed(html, headers=(("Link", f"<{value}>; rel=license"),)).licence
    assert found.license.isprintable() and len(list(found.statements())) == len(found.license_source.split(", "))


def test_hostile_licences_take_little_time() -> None:
    for bad in ("CC BY " + "1" * 9999 + "x", "mit" + "-1" * 9999 + "!", "x-(" * 9999, "attribution" * 9999):
        assert family(bad) == ""
    many = "".join(f"<a rel=license href=/{number}>x</a>" for number in range(5000))
    assert parsed(many).licence == Licence("http://a.test/0", "a")


def test_a_header_states_the_licence_of_any_kind_of_page() -> None:
    link = (
        f'</style.css>; rel=preload, <//{CC}/by-nd/4.0/>; rel="nofollow LICENSE"; title="a, b", </other>; rel=license'
    )
    page = parsed("A plain text.", "text/plain", (("link", link),))
    assert page.licence == Licence(f"http://{CC}/by-nd/4.0/, http://a.test/other", "header, header")
    assert (
        parsed("A text.", "text/plain", (("Link", f'<//{CC}/by/4.0/>; rel=license; anchor="/x"'),)).licence == Licence()
    )
