"""Each rule of `check links`: a site that breaks it once, and honest sites that look as if they did."""

from pathlib import Path

import pytest

from beamtrawl.runners.site_checks.rules import BY_NAME
from beamtrawl.transforms.urls.canonical import url_key
from tests.support.checked_sites import (
    DENIED,
    DESCRIBED,
    FAILED,
    GONE,
    NOT_MODIFIED,
    Said,
    Together,
    crawled,
    found,
    moved,
    page,
    sitemap,
)
from tests.support.committed import commit_rows

A, B, C, D = (f"http://a.test/{name}" for name in ("", "b", "c", "d"))
NO_WEB = "<a href='mailto:a@[b'>m</a><a href='javascript:x[0]'>j</a><a href='x:[y'>o</a>"
SECURE_A, SECURE_B = "https://a.test/", "https://a.test/b"
MAP = "http://a.test/sitemap.xml"
IMAGE = Said("x", "unwanted_type", 200, media_type="image/png")
IN_MAP = {A: page("A", "<a href=b>b"), MAP: sitemap(A, B, C)}

BROKEN = {
    "gone": ({A: page("A", "<a href=b>b</a>"), B: GONE}, (A, B)),
    "gone_after_redirect": ({A: page("A", "<a href=b>b"), B: moved(C), C: GONE}, (A, B)),
    "gone_image": ({A: page("A", "<img src=b alt=b>"), B: GONE._replace(kind="requisite")}, (A, B)),
    "failed": ({A: page("A", "<a href=b>b"), B: FAILED}, (A, B)),
    "failed_400": ({A: page("A", "<a href=b>b"), B: Said(None, "client_error", 400)}, (A, B)),
    "blocked": ({A: page("A", "<a href=b>b"), B: DENIED}, (A, B)),
    "blocked_402": ({A: page("A", "<a href=b>b"), B: Said(None, "payment_required", 402)}, (A, B)),
    "blocked_forbidden": ({A: page("A", "<a href=b>b"), B: Said(None, "forbidden", 403)}, (A, B)),
    "blocked_403": ({A: page("A", "<a href=b>b"), B: Said(None, "client_error", 403)}, (A, B)),
    "moved": ({A: page("A", "<a href=b>b"), B: moved(C), C: page("C")}, (A, B)),
    "moved_out_of_the_crawl": ({A: page("A", "<a href=b>b"), B: moved("http://b.test/")}, (A, B)),
    "insecure": ({SECURE_A: page("A", f"<a href={B}>b"), B: moved(SECURE_B), SECURE_B: page("B")}, (SECURE_A, B)),
    "insecure_both": ({SECURE_A: page("A", f"<a href={B}>b <a href=b>b"), SECURE_B: page("B")}, (SECURE_A, B)),
    "slow": ({A: page("A", "<a href=b>b"), B: page("B")._replace(elapsed_ms=5001.0)}, (A, B)),
    "wrong_type": ({A: page("A", "<img src=b alt=b>"), B: page("B")._replace(kind="requisite")}, (A, B)),
    "wrong_type_style": (
        {A: page("A", "", f"{DESCRIBED}<link rel=stylesheet href=b>"), B: page("B")._replace(kind="requisite")},
        (A, B),
    ),
    "wrong_type_script": ({A: page("A", "<script src=b></script>"), B: page("B")._replace(kind="requisite")}, (A, B)),
    "fragment": ({A: page("A", "<a href=b#x>b"), B: page("B", "<p id=y>")}, (A, f"{B}#x")),
    "fragment_of_itself": ({A: page("A", "<a href=#x>b")}, (A, f"{A}#x")),
    "fragment_after_redirect": ({A: page("A", "<a href=b#x>b"), B: moved(C, 302), C: page("C")}, (A, f"{B}#x")),
    "orphan": ({A: page("A", "<a href=b>b"), B: page("B"), C: page("C", "<a href=/>a <a href=c>c")}, (C, None)),
    "no_title": ({A: page("A", "<a href=b>b"), B: Said(f"{DESCRIBED}<h1>B</h1>")}, (B, None)),
    "no_description": ({A: page("A", "<a href=b>b"), B: page("B", "", "")}, (B, None)),
    "several_h1": ({A: page("A", "<h1>A again</h1>")}, (A, None)),
    "malformed": ({A: page("A", f"<a href='http://[bad/'>x</a>{NO_WEB}")}, (A, "http://[bad/")),
    "malformed_port": ({A: page("A", f"<a href=HTTPS://a.test:99999/>x</a>{NO_WEB}")}, (A, "HTTPS://a.test:99999/")),
    "malformed_host": ({A: page("A", f"<a href='//a b/'>x</a>{NO_WEB}")}, (A, "//a b/")),
    "no_alt": ({A: page("A", "<img src=b><img src=c alt=c>")}, (A, B)),
    "canonical_chain": (
        {
            A: page("A", "<a href=b>b", f"{DESCRIBED}<link rel=canonical href={B}>"),
            B: page("B", "<a href=c>c", f"{DESCRIBED}<link rel=canonical href={C}>"),
            C: page("C", "", f"{DESCRIBED}<link rel=canonical href={C}>"),
        },
        (A, B),
    ),
    "sitemap_gone": ({**IN_MAP, B: page("B"), C: GONE}, (MAP, C)),
    "sitemap_moved": ({**IN_MAP, B: page("B"), C: moved(B, 302)}, (MAP, C)),
    "not_in_sitemap": ({A: page("A", "<a href=b>b"), MAP: sitemap(A), B: page("B")}, (B, None)),
    "mixed_content": ({SECURE_A: page("A", "<img src=http://b.test/i.png alt=i>")}, (SECURE_A, "http://b.test/i.png")),
    "hreflang": (
        {
            A: page("A", "<a href=b>b", f"{DESCRIBED}<link rel=alternate hreflang=de href=/b>"),
            B: page("B", "", f"{DESCRIBED}<link rel=alternate hreflang=de href=/b>"),
        },
        (A, B),
    ),
}
"""Name of a rule, perhaps with a variant: answers, and the page and target of the only finding."""


def test_every_rule_has_a_site() -> None:
    tested = {max((rule for rule in BY_NAME if name.startswith(rule)), key=len) for name in BROKEN}
    assert tested | {"same_title", "canonical_loop", "seed"} == set(BY_NAME)


HONEST = {
    "fragments that need no element": page(
        "A", "<a href=#>t <a href=#top>t <a href=#/route>r <a href=#!r>r <a href=#:~:text=b>b <a href='?#'>x"
    ),
    "fragments in other spellings": page("A", "<a href=#gr%C3%B6%C3%9Fe>g <a href=#a%20b>a<p id=größe><p id='a%20b'>"),
    "the name of an anchor": page("A", "<a href=#old>o <a name=old></a>"),
    "decoration": page(
        "A",
        "<img src=b alt=''><img src=c role=presentation><img src=d aria-hidden=true><noscript><img src=e></noscript>",
    ),
    "a template with an h1": page("A", "<template><h1>B</h1></template>"),
    "an image that labels itself": page("A", "<img src=b aria-label=b>"),
    "data and mail": page("A", "<img src=data:, alt=d><a href=mailto:a@a.test>m <a href=javascript:x()>j"),
    "hosts to connect to": page("A", "", f"{DESCRIBED}<link rel=preconnect href=//b.test><link rel=icon href=i>"),
    "a script that is data": page("A", "<script type=application/json src=b></script>"),
    "a canonical link to itself": page("A", "", f"{DESCRIBED}<link rel=canonical href={A}>"),
    "another version that is not crawled": page("A", "", f"{DESCRIBED}<link rel=alternate hreflang=de href=//b.test/>"),
    "no description, not to be indexed": page("A", "", "<meta name=robots content=noindex>"),
    "an empty page": Said(f"<title>A</title>{DESCRIBED}"),
}


OF_ALL_PAGES = ("orphan", "sitemap", "not_in_sitemap")
"""Rules that are not decided if another site of the crawl may have further links."""

HONEST_SITES = {
    "a fragment of its own behind a redirect": {
        A: page("A", "<a href=b#x>b"),
        B: moved(C, 302)._replace(headers=[("Location", f"{C}#y")]),
        C: page("C", "<p id=y>"),
    },
    "a fragment of its own behind two redirects": {
        A: page("A", "<a href=b#x>b"),
        B: moved(C, 302),
        C: moved(D, 302)._replace(headers=[("Location", "/d#y")]),
        D: page("D", "<p id=y>"),
    },
    "a temporary redirect": {A: page("A", "<a href=b>b"), B: moved(C, 302), C: page("C")},
    "equal titles of a page and its copy": {
        A: page("A", "<a href=b>b"),
        B: page("A", "", f"{DESCRIBED}<link rel=canonical href={A}>"),
    },
    "equal titles on two hosts": {A: page("A", "<a href=//b.a.test/>b"), "http://b.a.test/": page("A")},
    "an image": {A: page("A", "<img src=b alt=b>"), B: IMAGE},
    "a file without a known type": {
        A: page("A", "<img src=b alt=b>"),
        B: IMAGE._replace(media_type="application/octet-stream"),
    },
    "an entry that redirects to a page has it": {**IN_MAP, MAP: sitemap(A, B, C), B: page("B"), C: page("C", "")},
    "versions that name each other": {
        A: page("A", "<a href=b>b", f"{DESCRIBED}<link rel=alternate hreflang=de href=/b>"),
        B: page("B", "", f"{DESCRIBED}<link rel=alternate hreflang=en href=/>"),
    },
    "a port is not that of https": {
        SECURE_A: page("A", "<a href=http://a.test:8080/b>b"),
        SECURE_B: page("B", "<a href=/>a"),
    },
    "a link from elsewhere to a page of http only": {A: page("A", "<a href=b>b"), B: page("B")},
}


LATER: dict[str, tuple[list[dict[str, Said]], list[tuple[str, str, str | None]]]] = {
    "a probe is no answer": ([{A: page("A", "<a href=b>b"), B: page("B")}, {B: GONE._replace(kind="probe")}], []),
    "a page that failed and came back": ([{A: page("A", "<a href=b>b"), B: FAILED}, {B: page("B")}], []),
    "a page is as its last answer says": (
        [
            {A: page("A", "<a href=b>b <a href=c>c <a href=d>d"), B: GONE, C: page("C", "<img src=i>"), D: page("D")},
            {A: NOT_MODIFIED, B: page("B"), C: FAILED, D: GONE},
        ],
        [("gone", A, D), ("failed", A, C), ("no_alt", C, "http://a.test/i")],
    ),
    "a limit cut a page": ([{A: page("A", "<a href=b#x>b"), B: page("B", f"{'<div>' * 2_100}<p id=x>")}], []),
    **{
        f"a sitemap, and later {name}": ([{**IN_MAP, B: page("B"), C: GONE}, {MAP: answer}], expected)
        for name, answer, expected in (
            ("it is gone", GONE._replace(kind="sitemap"), []),
            ("it fails for now", FAILED._replace(kind="sitemap"), [("sitemap_gone", MAP, C)]),
            ("it is as it was", NOT_MODIFIED._replace(kind="sitemap"), [("sitemap_gone", MAP, C)]),
            ("it has other entries", sitemap(A, B), []),
            ("it has moved", moved(f"{MAP}.gz")._replace(kind="sitemap"), []),
        )
    },
}
"""Answers of two rounds, and what is found after both."""

UNDECIDED = ("a page is as its last answer says", "a limit cut a page", "a sitemap, and later it fails for now")
"""Of these, the ones that leave open whether a page is an orphan, or in a sitemap."""

LOOP = {
    A: page("A", "<a href=b>b", f"{DESCRIBED}<link rel=canonical href={B}>"),
    B: page("B", "<a href=c>c", f"{DESCRIBED}<link rel=canonical href={A}>"),
    C: page("C", "<a href=d>d"),
    D: page("C"),
}

Findings = list[tuple[str, str, str | None]]


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Findings]:
    """What is found of each site: in a crawl where all is known, or in one where links lead to what failed."""
    of_all_pages = {name: [answers] for name, (answers, _) in BROKEN.items() if name.startswith(OF_ALL_PAGES)}
    known = of_all_pages | {name: [answers] for name, answers in HONEST_SITES.items()} | {"loop": [LOOP]}
    known |= {name: rounds for name, (rounds, _) in LATER.items() if name not in UNDECIDED}
    open_ = {name: [answers] for name, (answers, _) in BROKEN.items() if name not in known}
    open_ |= {name: [{A: answer}] for name, answer in HONEST.items()}
    open_ |= {name: rounds for name, (rounds, _) in LATER.items() if name in UNDECIDED}
    by_site: dict[str, Findings] = {}
    for sites in (known, open_):
        found, notes = Together(tmp_path_factory.mktemp("sites"), sites).checked()
        by_site |= {name: [(each.rule, each.page, each.target) for each in of_site] for name, of_site in found.items()}
        names = [note.partition(":")[0] for note in notes]
        elsewhere = ["links to other hosts are not checked"]  # of the site with another port
        unvisited = ["links to URLs of the site that were not visited have no finding"]
        assert names == (elsewhere if sites is known else [*unvisited, "orphan", "not_in_sitemap"]), notes
    return by_site


@pytest.mark.parametrize("name", BROKEN)
def test_a_site_that_breaks_a_rule_once(name: str, findings: dict[str, Findings]) -> None:
    rule = max((rule for rule in BY_NAME if name.startswith(rule)), key=len)
    assert findings[name] == [(rule, *BROKEN[name][1])]


def test_a_loop_and_equal_titles_concern_two_pages(findings: dict[str, Findings]) -> None:
    assert findings["loop"] == [
        ("same_title", C, D),
        ("same_title", D, C),
        ("canonical_loop", A, B),
        ("canonical_loop", B, A),
    ]


@pytest.mark.parametrize("name", HONEST)
def test_honest_pages(name: str, findings: dict[str, Findings]) -> None:
    assert findings[name] == []


@pytest.mark.parametrize("name", HONEST_SITES)
def test_honest_sites(name: str, findings: dict[str, Findings]) -> None:
    """Two of them have a page that no link leads to."""
    orphans = {"an entry that redirects to a page has it": C, "a port is not that of https": SECURE_B}
    assert findings[name] == ([("orphan", orphans[name], None)] if name in orphans else [])


@pytest.mark.parametrize("name", LATER)
def test_answers_of_two_rounds(name: str, findings: dict[str, Findings]) -> None:
    assert findings[name] == LATER[name][1]


def test_a_link_to_an_alias_is_one_to_what_stands_for_it(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {A: page("A", "<a href=b>b <a href=c#x>c"), C: page("C"), D: GONE})
    rows = [{"url": B, "state": "alias", "joined_to": url_key(D)}, {"url": C, "state": "fetched"}]
    commit_rows(tmp_path, "update", 2, {"urls": rows})
    assert found(crawl) == [("gone", A, B), ("fragment", A, f"{C}#x")]
