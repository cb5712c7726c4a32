"""Licences (RSL 1.0): where they are found, and what is crawled, found, exported for training and given to models.

The section numbers are those of RSL-SPEC-1.0. The documents named after publishers have the structure of theirs.
"""

import doctest
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import pyarrow as pa
from hypothesis import given, strategies as st

from beamtrawl.runners.exports.selection import INPUT, TRAINING, Rights
from beamtrawl.transforms.http.reply import Reply
from beamtrawl.transforms.parsing.html_page import parse_page
from beamtrawl.transforms.rights import rsl
from beamtrawl.transforms.rights.rsl import MAX_BYTES
from beamtrawl.transforms.robots.lookup import robots_row, start_search
from beamtrawl.transforms.robots.stored_signals import StoredSignals, stated
from tests.support.rights import tdm_rules
from tests.support.tables import each_row

PAGE, URL = "http://a.test/blog/a", "http://a.test/l.xml"
NAMED = f"License: {URL}\nUser-agent: *\n"
TYPE = "application/rsl+xml"
LINK = f'<{URL}>; rel="license"; type="{TYPE}"'
ELEMENT = f'<link rel="license" type="{TYPE}" href="{URL}">'
License = tuple[list[str], list[str], str]
"""Permitted and prohibited uses, and the type of payment."""

NOW = datetime(2026, 11, 29, tzinfo=UTC)


def content(inner: str, url: str = "/", attributes: str = "") -> str:
    return f'<content url="{url}" {attributes}>\n<license>\n{inner}\n</license>\n</content>'


def document(*contents: str) -> str:
    return f'<rsl xmlns="https://rslstandard.org/rsl" max-age="7">{"".join(contents)}</rsl>'


def licence(inner: str, url: str = "/", attributes: str = "") -> str:
    return document(content(inner, url, attributes))


def words(element: str, usage: str) -> str:
    return f'<{element} type="usage">{usage}</{element}>'


def paid(payment: str, usage: str = "all") -> str:
    return licence(f"{words('permits', usage)}\n{payment}")


def script(text: str) -> str:
    return f'<script type="{TYPE}">{text}</script>'


NO_TRAINING, NO_SEARCH = words("prohibits", "ai-train"), words("prohibits", "search")
NO_AI = words("prohibits", "ai-all")
ROYALTY = licence(words("permits", "ai-all") + '<payment type="use"><standard>x/license</standard></payment>')
MEDIUM = document(
    '<content url="/"><license><permits type="usage">ai-input ai-index search</permits><payment type="attribution"/>'
    '</license><license><prohibits type="usage">ai-train</prohibits><payment type="subscription"><custom>x</custom>'
    "</payment></license></content>"
)
GUARDIAN = licence(
    words("permits", "ai-train ai-input") + words("prohibits", "all") + '<payment type="subscription"></payment>'
)
STACK_OVERFLOW = document(
    '<content url="/"><terms>https://creativecommons.org/licenses/by-sa/4.0/</terms></content>',
)


class Case(NamedTuple):
    """What a site has; the letters are c: crawled, i: found, t: in a corpus for training, m: given to models."""

    fate: str
    robots: str = NAMED
    licences: Mapping[str, str | bytes] = {}
    headers: Sequence[tuple[str, str]] = ()
    head: str = ""
    mining: bool | None = None  # what the file of TDMRep reserves


def one(fate: str, text: str | bytes) -> Case:
    return Case(fate, licences={URL: text})


def usage(fate: str, permitted: str = "", prohibited: str = "") -> Case:
    inner = words("permits", permitted) if permitted else ""
    return one(fate, licence(inner + (words("prohibits", prohibited) if prohibited else "")))


OTHER = {"http://b.test/l.xml": licence(NO_TRAINING)}

CASES: dict[str, Case] = {
    # 4: where it is found
    "nothing is named": Case("citm", ""),
    "robots.txt": one("ci-m", licence(NO_TRAINING)),
    "robots.txt, in the group of the robot": Case(
        "ci-m", f"User-agent: bot\n{NAMED[:30]}", {URL: licence(NO_TRAINING)}
    ),
    "robots.txt, in the group of all": Case("ci-m", f"User-agent: *\nLicense: {URL}", {URL: licence(NO_TRAINING)}),
    "robots.txt, in the group of another": Case("citm", f"User-agent: x\nLicense: {URL}", {URL: licence(NO_TRAINING)}),
    "robots.txt, a group instead of all (4.4.2)": Case(
        "ci-m",
        f"License: /all.xml\nUser-agent: *\nLicense: {URL}",
        {URL: licence(NO_TRAINING), "http://a.test/all.xml": licence(NO_SEARCH)},
    ),
    "robots.txt, two licences": Case(
        "c--m", f"License: /2.xml\n{NAMED}", {URL: licence(NO_TRAINING), "http://a.test/2.xml": licence(NO_SEARCH)}
    ),
    "robots.txt, a relative URL": Case("ci-m", "License: /l.xml", {URL: licence(NO_TRAINING)}),
    "robots.txt, no URL": Case("ci--", "License: http://["),
    "robots.txt, which still decides what is crawled": Case("-i-m", f"{NAMED}Disallow: /", {URL: licence(NO_TRAINING)}),
    "a header": Case("ci-m", "", {URL: licence(NO_TRAINING)}, [("Link", LINK)]),
    "a header among others": Case("ci-m", "", {URL: licence(NO_TRAINING)}, [("link", f"</x>; rel=next, {LINK}")]),
    "a header of another type": Case("citm", "", {URL: licence(NO_TRAINING)}, [("Link", f"<{URL}>; rel=license")]),
    "a link element": Case("ci-m", "", {URL: licence(NO_TRAINING)}, head=ELEMENT),
    "a link element of another type": Case("citm", "", head=f'<link rel="license" href="{URL}">'),
    "a link element of another relation": Case("citm", "", head=ELEMENT.replace("license", "alternate", 1)),
    "a link element whose URL is the scope": Case("ci-m", "", {URL: licence(NO_TRAINING, "")}, head=ELEMENT),
    "four link elements": Case("ci--", "", head="".join(ELEMENT.replace("l.xml", f"{n}.xml") for n in range(4))),
    "within the page": Case("ci-m", "", head=script(licence(NO_TRAINING, ""))),
    "within the page, by its URL": Case("ci-m", "", head=script(licence(NO_TRAINING, PAGE))),
    "within the page, no XML": Case("ci--", "", head=script("<rsl")),
    "within the page, and it allows what robots.txt does not": Case(
        "c--m", NAMED, {URL: licence(NO_SEARCH)}, head=script(licence(words("permits", "search ai-input"), ""))
    ),
    # 3.4.1.1, 3.5, 3.6: uses
    "all prohibited": usage("c---", prohibited="all"),
    "ai-all prohibited": usage("ci--", prohibited="ai-all"),
    "ai-input prohibited": usage("cit-", prohibited="ai-input"),
    "ai-index prohibited": usage("cit-", prohibited="ai-index"),
    "search prohibited": usage("c-tm", prohibited="search"),
    "two prohibited": usage("c--m", prohibited="search ai-train"),
    "a word that nobody knows is prohibited": usage("ci--", prohibited="ai-traning"),
    "a word of another namespace is prohibited": usage("citm", prohibited="x:all"),
    "all permitted": usage("citm", "all"),
    "search alone permitted": usage("ci--", "search"),
    "ai-train alone permitted": usage("cit-", "ai-train"),
    "an index of models alone permitted": usage("ci--", "ai-index"),
    "a word that nobody knows is permitted": usage("ci--", "everything"),
    "permitted and prohibited": usage("ci-m", "all", "ai-train"),
    "no word of usage": one("citm", licence('<legal type="disclaimer">as-is</legal>')),
    # words of drafts
    "train-ai": usage("ci-m", prohibited="train-ai"),
    "train-genai, ai-use": usage("ci--", prohibited="train-genai,ai-use"),
    "words between commas": usage("c-t-", prohibited="search,ai-input"),
    "pay per inference": one("c---", paid('<payment type="inference"/>')),
    # 3.7: payment, and further conditions
    "free": one("citm", paid('<payment type="free"/>')),
    "attribution": one("citm", paid('<payment type="attribution"><standard>cc-by</standard></payment>')),
    "no type of payment": one("citm", paid("<payment/>")),
    "no type, and a way to pay": one("c---", paid("<payment><standard>https://x.test/pay</standard></payment>")),
    "free, and an amount": one("c---", paid('<payment type="free"><amount currency="USD">1</amount></payment>')),
    "free, and an amount of nothing": one(
        "citm", paid('<payment type="free"><amount currency="USD">0.00</amount></payment>')
    ),
    **{
        f"payment {kind}": one("ci--", paid(f'<payment type="{kind}"/>', "ai-all"))
        for kind in ("purchase", "subscription", "training", "crawl", "use", "contribution", "unheard-of")
    },
    "search for a payment": one("c---", paid('<payment type="crawl"/>')),
    "training for a payment": one("ci--", paid('<payment type="training"/>', "ai-train")),
    "everything for a payment": one("c---", licence('<payment type="crawl"/>')),
    "for some users": one("ci--", licence(words("permits", "ai-all") + '<permits type="user">education</permits>')),
    "not for some users": one(
        "ci--", licence(words("permits", "ai-all") + '<prohibits type="user">commercial</prohibits>')
    ),
    "for a country": one("ci--", licence(words("permits", "ai-all") + '<permits type="geo">EU</permits>')),
    "prohibited for some users": one("c---", licence(NO_TRAINING + '<prohibits type="user">commercial</prohibits>')),
    "with reports (3.12)": one("ci--", licence(words("permits", "ai-all") + '<reporting type="audit" profile="x"/>')),
    "with a token (3.3)": one("ci--", licence(words("permits", "ai-all"), "/", 'server="https://x.test"')),
    "encrypted (3.3)": one("ci--", licence(words("permits", "ai-all"), "/", 'encrypted="true"')),
    "an element that is misspelt": one("c---", licence('<permit type="usage">all</permit>')),
    "an element of another namespace": one("citm", licence(words("permits", "all") + '<x xmlns="urn:x"/>')),
    # 3.1.1, 3.3: scopes
    "another path": one("citm", licence(NO_AI, "/other/")),
    "a pattern": one("ci--", licence(NO_AI, "/*/a$")),
    "the URL of its host": one("ci--", licence(NO_AI, "https://A.test/blog/*")),
    "the URL of its host, with the port": one("ci--", licence(NO_AI, "http://a.test:80")),
    "the URL of another host": one("citm", licence(NO_AI, "http://b.test/")),
    "no URL": one("ci--", document(f"<content><license>{NO_AI}</license></content>")),
    "a relative URL": one("ci--", licence(NO_AI, "blog/")),
    "a URL that is none": one("citm", licence(NO_AI, "http://[/")),
    "a narrower scope permits": one("citm", document(content(NO_AI), content(words("permits", "ai-all"), "/blog/"))),
    "a narrower scope prohibits (3.1.2)": one(
        "ci-m", document(content(words("permits", "all")), content(NO_TRAINING, "/blog/"))
    ),
    "one scope twice": one("ci--", document(content(words("permits", "all")), content(NO_AI))),
    # documents of publishers
    "a collective": one("ci--", ROYALTY),
    "two licenses": one("ci-m", MEDIUM),
    "all prohibited beside what is permitted": one("c---", GUARDIAN),
    "a content without a license": one("ci--", STACK_OVERFLOW),
    # other hosts
    "another host's document": Case("ci-m", "License: http://b.test/l.xml", OTHER),
    "another host's document, of a page": Case("ci-m", "", OTHER, head=ELEMENT.replace("a.test", "b.test")),
    "another host's document, about that host": Case(
        "citm", "License: http://b.test/l.xml", {"http://b.test/l.xml": licence(NO_AI, "http://b.test/")}
    ),
    "another host's document that nobody names": Case("citm", "", OTHER),
    # beside other statements
    "a content signal reserves more": Case("c---", NAMED + "Content-Signal: search=no\n", {URL: licence(NO_AI)}),
    "a content signal allows": Case(
        "ci--", NAMED + "Content-Signal: ai-train=yes, ai-input=yes\n", {URL: licence(NO_AI)}
    ),
    "Content-Usage reserves": Case(
        "ci-m", NAMED + "Content-Usage: train-ai=n\n", {URL: licence(words("permits", "all"))}
    ),
    "Content-Usage allows": Case("ci-m", NAMED + "Content-Usage: train-ai=y\n", {URL: licence(NO_TRAINING)}),
    "TDMRep reserves": Case("ci--", NAMED, {URL: licence(words("permits", "all"))}, mining=True),
    "TDMRep does not": Case("ci-m", NAMED, {URL: licence(NO_TRAINING)}, mining=False),
    "a page reserves mining": Case("ci--", NAMED, {URL: licence(words("permits", "all"))}, [("tdm-reservation", "1")]),
    "noai": Case("ci--", NAMED, {URL: licence(words("permits", "all"))}, head='<meta name="robots" content="noai">'),
    "a signal of the page": Case(
        "c-tm", "", {}, [("Content-Signal", "search=no")], script(licence(words("permits", "all"), ""))
    ),
    # 4.3: what cannot be read grants nothing to models
    "not fetched yet": Case("ci--"),
    "HTML": one("ci--", "<!doctype html><title>Not found</title>"),
    "nothing": one("ci--", ""),
    "another namespace": one("ci--", licence(words("permits", "all")).replace("rslstandard.org", "rsl.test")),
    "no content": one("ci--", document()),
    "entities": one("ci--", '<!DOCTYPE r [<!ENTITY a "all">]>' + licence(words("permits", "&a;"))),
    "entities in UTF-16": one("ci--", ('<!DOCTYPE r [<!ENTITY a "x">]>' + licence("&a;")).encode("utf-16")),
    "too large": one("ci--", licence(words("permits", "all")) + " " * MAX_BYTES),
    "cut off": one("ci--", licence(NO_SEARCH)[:-3]),
    "a max-age without end": one("ci-m", licence(NO_TRAINING).replace('"7"', '"1000000000"')),
    "UTF-16": one("ci-m", ('<?xml version="1.0" encoding="UTF-16"?>' + licence(NO_TRAINING)).encode("utf-16")),
}


def said(case: Case) -> tuple[str, StoredSignals]:
    """What becomes of the page, and what is said of it."""
    reply = Reply(200, body=case.robots.encode())
    row, robots = robots_row(start_search("http://a.test", 0), "a.test", reply, 1, NOW, "bot")
    body = f"<title>A</title>{case.head}<p>Text.".encode()
    page = parse_page(body, PAGE, "text/html", case.headers, "bot")
    assert page is not None
    preferences = page.usage._replace(content_usage=robots.usage(PAGE) or page.usage.content_usage)
    columns = preferences.columns("text/html")
    read = {url: rsl.parse(text if isinstance(text, bytes) else text.encode()) for url, text in case.licences.items()}
    signals = stated({row["origin"]: row}, {PAGE: columns["rsl"]} if columns["rsl"] else {}, read)
    found = columns["search"] is not False and not signals.hides(pa.chunked_array([[PAGE]]))[0]
    rights, document = Rights(tdm_rules=tdm_rules(case.mining), signals=signals), columns | {"url": PAGE}
    exported = [rights.may_use(purpose, document) is not False for purpose in (TRAINING, INPUT)]
    fates = zip("citm", (robots.allows(PAGE)[0], found, *exported), strict=True)
    return "".join(letter if done else "-" for letter, done in fates), signals


@each_row({name: (name, case) for name, case in CASES.items()})
def test_what_becomes_of_a_page(name: str, case: Case) -> None:
    assert said(case)[0] == case.fate


DECIDING = {
    "robots.txt": (one("", licence(NO_TRAINING)), [f"line 3 of {URL}: RSL: / ai-train=no (prohibits, line 3)"]),
    "payment": (
        one("", paid('<payment type="use"/>', "ai-train")),
        [
            f"line 1 of {URL}: RSL: / ai-input=no (not in permits, line 1)",
            f"line 4 of {URL}: RSL: / ai-train=no (payment use, line 4)",
        ],
    ),
    "the page": (
        Case("", "", head=script(licence(NO_TRAINING, ""))),
        [f"line 1 of {PAGE}: RSL: ai-train=no (prohibits, line 3)"],
    ),
    "not fetched": (Case(""), [f"{URL}: RSL: ai-input=no, ai-train=no (not fetched yet)"] * 2),
}


@each_row(DECIDING)
def test_the_element_that_decides(case: Case, expected: Sequence[str]) -> None:
    lines = [signal.line for _, signal in said(case)[1].about(PAGE)]
    assert [f"{line.place}: {line}" for line in lines] == expected


ERRORS = {
    "HTML": (b"<!doctype html>", "not XML: "),
    "a root of no namespace": (b"<rsl/>", f"its root is rsl, not rsl of {rsl.NAMESPACE}"),
    "no content": (document().encode(), "it has no content"),
    "a bomb": (b'<!DOCTYPE r [<!ENTITY a "x">]><rsl/>', "it has a document type, which may declare entities"),
    "too large": (b" " * (MAX_BYTES + 1), f"larger than {MAX_BYTES} bytes"),
}


@each_row(ERRORS)
def test_what_is_wrong_with_a_document(body: bytes, error: str) -> None:
    found = rsl.parse(body)
    assert (found.contents, found.error[: len(error)]) == ((), error)


def test_an_element_of_a_feed_speaks_of_the_page_of_its_item() -> None:
    item = '<item><title>{0}</title><rsl:content url="{1}"><rsl:license>{2}</rsl:license></rsl:content></item>'
    prohibits = '<rsl:prohibits type="usage">{}</rsl:prohibits>'
    items = [
        item.format("One", "http://a.test/1", prohibits.format("search")),
        item.format("Two", "http://a.test/2?a=*", prohibits.format("ai-train")),
        item.format("Three", "http://b.test/3", prohibits.format("all")),
    ]
    feed = f'<rss xmlns:rsl="{rsl.NAMESPACE}"><channel><title>F</title>{"".join(items)}</channel></rss>'
    url = "http://a.test/feed.xml"
    page = parse_page(feed.encode(), url, "application/rss+xml", (), "bot", ("feed",))
    assert page is not None
    assert page.usage.columns("application/rss+xml")["search"] is None
    signals = stated({}, {url: page.usage.rsl}, {})
    asked = ("http://a.test/1", "http://a.test/11", "http://a.test/2?a=b", "http://b.test/3")
    assert signals.hides(pa.chunked_array([asked])).tolist() == [True, False, False, False]
    assert [signals.denies(each, "ai-train") for each in asked] == [False, False, True, False]
    assert [signal.line.place for _, signal in signals.about("http://a.test/1")] == [f"line 1 of {url}"]


PERMISSIONS = st.lists(
    st.sampled_from(["all", "ai-all", "ai-train", "ai-input", "search", "x", "ai-index"]), max_size=3
)
LICENSES = st.lists(
    st.tuples(PERMISSIONS, PERMISSIONS, st.sampled_from(["", "free", "attribution", "use"])), max_size=3
)


@given(LICENSES, LICENSES)
def test_a_further_prohibition_never_allows_more(before: Sequence[License], further: Sequence[License]) -> None:
    """Of one more document about a page, and of one more prohibition in a license."""
    documents = {URL: of(before), "http://a.test/2.xml": of(further)}
    alone, both = (said(Case("", f"License: {names}\n", documents)) for names in (URL, f"{URL}\nLicense: /2.xml"))
    assert all(left in (right, "-") for left, right in zip(both[0], alone[0], strict=True))
    stricter = {URL: of([(permits, [*prohibits, "all"], payment) for permits, prohibits, payment in before])}
    assert said(Case("", NAMED, stricter))[0] == ("c---" if before else alone[0])


def of(licenses: Sequence[License]) -> str:
    inner = (
        words("permits", " ".join(permits)) + words("prohibits", " ".join(prohibits)) + f'<payment type="{payment}"/>'
        for permits, prohibits, payment in licenses
    )
    return document(f'<content url="/">{"".join(f"<license>{each}</license>" for each in inner)}</content>')


@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_any_bytes(body: bytes) -> None:
    assert rsl.parse(body).error
    assert rsl.parse(licence(words("permits", "all")).encode().replace(b"all", body.replace(b"<", b"")))


def test_examples() -> None:
    assert doctest.testmod(rsl).failed == 0


def test_media_types_of_licences_are_compared_without_case_and_parameters() -> None:
    page = b'<link rel="license" type="Application/RSL+xml; charset=utf-8" href="/l.xml"><title>A</title><p>text'
    read = parse_page(page, "http://a.test/", "text/html", [], "Bot", ("html",))
    assert read is not None
    assert (read.usage.rsl, read.licence.license) == ("http://a.test/l.xml", "")


def test_a_feed_with_more_statements_than_are_kept_reserves_its_host() -> None:
    content = f'<r:content xmlns:r="{rsl.NAMESPACE}" url="/{{}}"><r:license><r:prohibits type="usage">all</r:prohibits>'
    items = "".join(f"<item>{content.format(n)}</r:license></r:content></item>" for n in range(1_100))
    feed = f"<rss><channel>{items}</channel></rss>".encode()
    read = parse_page(feed, "http://a.test/feed", "application/rss+xml", [], "Bot", ("feed",))
    assert read is not None
    lines = read.usage.rsl.splitlines()
    assert len(lines) == 3_001
    assert lines[-1].startswith("/ ai-input=no, ai-train=no")
