"""Selectors: what they find, which are refused, and bounds on hostile pages."""

import doctest
import re

import pytest

from beamtrawl.transforms.parsing import html_tree
from beamtrawl.transforms.selectors import css, xpath
from beamtrawl.transforms.selectors.select import (
    MAX_NODES,
    MAX_SECONDS,
    Bounded,
    Budget,
    compile_css,
    compile_xpath,
    require_size,
    select,
)
from tests.support.tables import each_row

PAGE = """<html><body><div id=a class="x y"><h1>T <b>i</b></h1><p>one</p><p lang=ko>two<a href="/u">l</a></p>
<div><p>in</p></div></div><dl><dt>ISBN</dt><dd>1</dd><dd>2</dd><dt>Other</dt><dd>3</dd></dl>
<p class="x">end</p></body></html>"""


def found(page: str, paths) -> list[str]:
    """What paths find: strings, and elements as their tag and text."""
    nodes = select(html_tree.parse(page).root, paths, Budget())
    return [str(node) if isinstance(node, str) else f"{node.tag} {node.text.strip()}" for node in nodes]


# CSS selector: what it finds in PAGE
CSS = {
    "h1": ["h1 T i"],
    "#a p": ["p one", "p twol", "p in"],
    "#a > p": ["p one", "p twol"],
    "div p": ["p one", "p twol", "p in"],
    "div div p": ["p in"],
    "div > div > p": ["p in"],
    "h1 + p": ["p one"],
    "h1 ~ p": ["p one", "p twol"],
    "dt + dd": ["dd 1", "dd 3"],
    "p, h1": ["h1 T i", "p one", "p twol", "p in", "p end"],
    "p.x": ["p end"],
    "p:not(.x):nth-child(2)": ["p one"],
    "div:has(> h1) > p": ["p one", "p twol"],
    "[lang|=ko]": ["p twol"],
    "a::attr(href)": ["/u"],
    "h1::text": ["T "],
    "h1 > b::text, a::attr(HREF)": ["i", "/u"],
    "article": [],
}

XPATH = {
    "//p[1]": ["p one", "p in", "p end"],
    "(//p)[1]": ["p one"],
    "//div//p": ["p one", "p twol", "p in"],
    "//div[1]/p": ["p one", "p twol", "p in"],
    "//dt[.='ISBN']/following-sibling::dd[1]": ["dd 1"],
    "//b/ancestor::div/@id": ["a"],
    "//a/..": ["p twol"],
    "//p//a/../@lang": ["ko"],
    "/html/body/dl/dd[last()]": ["dd 3"],
    "/descendant::dd[2]": ["dd 2"],
    "//p[2]": ["p twol"],
    "//a/ancestor::p/following-sibling::div/p": ["p in"],
    "body/p": ["p end"],
    "//h1 | //a/@href": ["h1 T i", "/u"],
    "//p[@class='x'] | //h1": ["h1 T i", "p end"],
    "string(//h1)": ["T i"],
    "normalize-space(//dl)": ["ISBN12Other3"],
    "substring-after(//a/@href, '/')": ["u"],
    "count(//dd)": ["3"],
    "count(//dd) > 2": ["true"],
    "3 * 0.5": ["1.5"],
    "//dd[. * 2 > 2]": ["dd 2", "dd 3"],
    "//p[not(.//a) and not(@class)]": ["p one", "p in"],
    "//h1/node()[self::b]": ["b i"],
    "//dl[dd[contains(., '3')]]/dt": ["dt ISBN", "dt Other"],
    "//div[.//a[starts-with(@href, '/') and position() = 1]]/@class": ["x y"],
    "//p[count(.//a) = 1 or count(preceding-sibling::p) > 5]": ["p twol"],
    "//article": [],
}


@pytest.mark.parametrize(("selector", "nodes"), CSS.items(), ids=CSS)
def test_what_a_css_selector_finds(selector, nodes):
    assert found(PAGE, compile_css(selector, True)) == nodes


@pytest.mark.parametrize(("expression", "nodes"), XPATH.items(), ids=XPATH)
def test_what_an_xpath_expression_finds(expression, nodes):
    assert found(PAGE, compile_xpath(expression)) == nodes


BAD_CSS = {
    "": "is no CSS selector that can be used: expected a selector at position 0",
    "a[": "is no CSS selector that can be used: expected an identifier at position 2",
    "a >": "is no CSS selector that can be used: expected a selector at position 3",
    "p:nonsense": "is no CSS selector that can be used: unknown pseudo-class at position 10",
    "p::before": "has a pseudo-element; known are ::text and ::attr(NAME)",
    "ns|a": "has the prefix of a namespace; elements of pages have none",
    ":has(:has(a))": "has several of :has(), where they cost too much",
    "p" * 1001: "has more than 1000 characters",
}

BAD_XPATH = {
    "//p[": "is no XPath expression: expected a node test at the end of the expression",
    "//p//": "is no XPath expression: expected a node test at the end of the expression",
    "//p)": "has a ) that closes nothing",
    "|//p": "has a | without a path on both sides",
    "//a/#": "has '#' where none can stand",
    "$a": "has a variable; there are none",
    "document('/etc/passwd')": "calls document(), which is none of the functions of XPath 1.0 that can be used",
    "//p[re:test(., 'a')]": "calls re:test(), which is none of the functions of XPath 1.0 that can be used",
    "//svg:a": "has the prefix of a namespace in svg:a; elements of pages have none",
    "//p[//b]": "has a path from the root of the page in a predicate, where it costs too much",
    "//p[following::b]": "has following:: in a predicate, where it costs too much",
    "//p[.//a = 'x']": "compares what // or an axis finds in a predicate, where it costs too much",
    "//p['x' != ancestor::div]": "compares what // or an axis finds in a predicate, where it costs too much",
    "//p[.//a[. = 'x']]": "has a predicate of a predicate that reads more than attributes, where it costs too much",
    "//p[.//a[b = 'x']]": "has a predicate of a predicate that reads more than attributes, where it costs too much",
    "//p[.//a[not(contains(string(), 'x'))]]": "has a predicate of a predicate that reads more than attributes, "
    "where it costs too much",
    "sum(//dd)": "calls sum(), which is none of the functions of XPath 1.0 that can be used",
    "//p[a[.//b]]": "has // in a predicate of a predicate, where it costs too much",
    "//p[.//a//b]": "has several of // and axes in a path within [ ] or ( ), where they cost too much",
    "(//a//b)[1]": "has several of // and axes in a path within [ ] or ( ), where they cost too much",
    "(//a)//b": "has several of // and axes in a path within [ ] or ( ), where they cost too much",
    "//a/sideways::b": "has the axis sideways, which is none of ancestor, ancestor-or-self, attribute, child, "
    "descendant, descendant-or-self, following, following-sibling, parent, preceding, preceding-sibling, self",
}


@pytest.mark.parametrize(("selector", "reason"), BAD_CSS.items(), ids=lambda text: text[:30])
def test_bad_css_selectors(selector, reason):
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}$"):
        compile_css(selector, True)


@pytest.mark.parametrize(("expression", "reason"), BAD_XPATH.items(), ids=lambda text: text[:30])
def test_bad_xpath_expressions(expression, reason):
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}$"):
        compile_xpath(expression)


FLAT = "<body>" + "<div class=a>x</div>" * 5_000
NESTED = "<body>" + ("<div class=a>" * 1_000 + "</div>" * 1_000) * 5

# A page, a selector for which libxml2 alone takes 7 to 60 seconds, and the number of elements that it finds.
QUADRATIC = {
    "siblings": (FLAT, compile_css("div ~ div"), 4_999),
    "neighbours": (FLAT, compile_css("div + div"), 4_999),
    "nested": (NESTED, compile_css("div div div div"), 4_985),
    "nested classes": (NESTED, compile_css(".a .a"), 4_995),
    "nested paths": (NESTED, compile_xpath("//div//div//div"), 4_990),
}


@each_row(QUADRATIC)
def test_selectors_that_take_quadratic_time_take_less(page, paths, count):
    root, budget = html_tree.parse(page).root, Budget()
    assert len(select(root, paths, budget)) == count


def test_a_selector_ends_when_its_time_is_over():
    ticks = iter(range(100_000))
    with pytest.raises(Bounded, match=r"^selectors took more than 2 seconds$"):
        select(html_tree.parse(FLAT).root, compile_xpath("//div/following::div"), Budget(lambda: next(ticks) * 0.1))
    assert 20 <= next(ticks) <= 30


def test_pages_of_many_elements_and_selectors_of_many_nodes_are_bounded():
    many = html_tree.parse("<body>" + "<b></b>" * (MAX_NODES + 1)).root
    with pytest.raises(Bounded, match=r"^the page has more than 20000 elements$"):
        require_size(many)
    with pytest.raises(Bounded, match=r"^the page has more than 1000000 characters of text$"):
        require_size(html_tree.parse("<body>" + "x" * 1_000_001).root)
    with pytest.raises(Bounded, match=r"^a selector finds more than 100000 nodes$"):
        select(many, compile_css("b"), Budget(lambda: 0.0))
    assert MAX_SECONDS == 2


def test_examples_in_docstrings():
    assert doctest.testmod(xpath) == (0, 1)
    assert doctest.testmod(css) == (0, 1)
