"""Pages as Markdown: exact texts of small pages, properties of hostile ones."""

import doctest

import lxml.html
import pytest
from hypothesis import given, settings, strategies as st
from markdown_it import MarkdownIt

from beamtrawl.runners.exports.page_markdown import stored_text
from beamtrawl.runners.exports.page_markdown.content import content, markdown
from beamtrawl.runners.exports.page_markdown.stored_text import from_text
from beamtrawl.transforms.parsing.page_rules import page_rules
from beamtrawl.transforms.settings import MainText

URL = "http://a.test/d/page.html"
RENDERER = MarkdownIt("commonmark").enable(["table", "strikethrough"])

CASES = {
    "headings": ("<h1>A</h1><h3>B <a href='#b'>¶</a></h3>", "# A\n\n### B"),
    "a heading that looks closed": ("<h2>C #</h2>", "## C \\#"),
    "a heading that is not closed has all of the list, as in a browser": ("<h2>Docs<ul><li>a</ul>", "## Docs a"),
    "emphasis": ("<p>a <b>b </b>c <i>d</i>e</p>", "a **b** c *d*e"),
    "emphasis of a word": ("<p>a <i>d</i>, <s>e</s></p>", "a *d*, ~~e~~"),
    "emphasis over blocks": ("<div><b>a<div>b</div></b></div>", "**a**\n\n**b**"),
    "emphasis that joins": ("<em>a</em><em>b</em>", "*a*_b_"),
    "code": ("<p>x <code>a`b</code> <kbd>c</kbd></p>", "x ``a`b`` `c`"),
    "a link in code": ("<code>V&lt;<a href='t'>T</a>&gt;</code>", "`V<`[`T`](http://a.test/d/t)`>`"),
    "links": (
        "<a href='../b?c#d'>x</a> <a href='#y'>y</a> <a href='javascript:z()'>z</a> <a href='e'></a>",
        "[x](http://a.test/b?c#d) [y](#y) z",
    ),
    "parentheses of a link": ("<a href='b_(c)'>[x]</a>", "[\\[x\\]](http://a.test/d/b_(c))"),
    "a link around blocks": ("<a href='b'><div>next</div><p>Page</p></a>", "[next Page](http://a.test/d/b)"),
    "a link around a heading": (
        "<a href='b'><h2>T</h2><p>x</p></a>",
        "## [T](http://a.test/d/b)\n\nx",
    ),
    "an exclamation before a link": ("<p>go!<a href='b'>x</a></p>", "go\\![x](http://a.test/d/b)"),
    "images": (
        "<p><img src='i.png' alt='A [b]'><img src='data:,x' alt='c'></p>",
        "![A \\[b\\]](http://a.test/d/i.png) c",
    ),
    "breaks": ("<p>a<br>- b<br><br>c</p>", "a\\\n\\- b\\\n\\\nc"),
    "lists": (
        "<ul><li>a<ul><li>b<p>c</p></ul><li>d</ul><ol start=3><li>e<li>f</ol><ol><li>g</ol>",
        "- a\n  - b\n\n    c\n\n- d\n\n3. e\n4. f\n1) g",
    ),
    "a list directly in a list": ("<ul><li>a</li><ul><li>b</li></ul><li>c</li></ul>", "- a\n  - b\n- c"),
    "code in an item": ("<ul><li>a<pre>x\n  y</pre></ul>", "- a\n  ```\n  x\n    y\n  ```"),
    "a rule in an item": ("<ul><li><hr>a</ul>", "- \n  ---\n  a"),
    "terms": ("<dl><dt>T</dt><dd>d</dd></dl>", "**T**\n\nd"),
    "quotes": ("<blockquote><p>a</p><blockquote>b</blockquote></blockquote>c", "> a\n>\n> > b\n\nc"),
    "languages": (
        "<div class='highlight-py notranslate'><div class='highlight'><pre>a</pre></div></div>"
        "<pre><code class='language-c++'>b</code></pre><pre data-lang='x y'>c</pre><pre class='rust x'>d</pre>",
        "```py\na\n```\n\n```c++\nb\n```\n\n```\nc\n```\n\n```rust\nd\n```",
    ),
    "fences": ("<pre>a ``` b\n\n````</pre>", "`````\na ``` b\n\n````\n`````"),
    "a table": (
        "<table><caption>C</caption><tr><th>a<th>b|c<tr><td rowspan=2>1<p>2</p><td><ul><li>x<li>y</ul>"
        "<tr><td><pre>p\nq</pre></table>",
        "C\n\n| a | b\\|c |\n| --- | --- |\n| 1 2 | x y |\n| 1 2 | `p q` |",
    ),
    "columns": (
        "<table><tr><td colspan=2>a<td>b<tr><td>c<td>d<td>e</table>",
        "|  |  |  |\n| --- | --- | --- |\n| a |  | b |\n| c | d | e |",
    ),
    "a layout": ("<table><tr><td><h2>a</h2><td>b<tr><td>c<td>d</table>", "## a\n\nb\n\nc\n\nd"),
    "text that looks like markup": (
        "<p># a</p><p>1. b</p><p>2) g</p><p>&lt;b&gt;*c*&lt;/b&gt; &amp;lt; `d` _e_ snake_case</p>"
        "<p>&lt;<i>b</i>&gt; ~~x~~</p><p>===</p>",
        "\\# a\n\n1\\. b\n\n2\\) g\n\n\\<b>\\*c\\*\\</b> \\&lt; \\`d\\` \\_e\\_ snake\\_case"
        "\n\n\\<*b*> \\~\\~x\\~\\~\n\n\\===",
    ),
    "a text that another goes on with": ("<p>a &amp;lt<span>; b</span></p>", "a \\&lt; b"),
    "what is left out": (
        "<nav>n</nav><header><p>Site</p><h1>T</h1></header><p>A sentence.</p>"
        "<aside>a</aside><script>s</script><footer>f</footer>",
        "# T\n\nA sentence.",
    ),
    "no main text": ("<nav>only this</nav>", "only this"),
    "no-break spaces": (
        "<h1>Part&nbsp;I</h1><p>&nbsp;a&nbsp;b <code>c&nbsp;d</code> <a href=e title='f&nbsp;g'>h</a>",
        '# Part I\n\na b `c d` [h](http://a.test/d/e "f g")',
    ),
    "control characters": ("<p>a&#x202e;b&#x7;c</p>", "abc"),
    "markup beside a character that is removed": (
        "<p>&lt;&#x200e;script&gt;</p><p>#&#x200e; x</p><p><code>a`&#x200e;`b</code></p>"
        "<p><i>a</i>&lt;&#x200e;script&gt;</p><p><img src=i alt='&lt;&#x200e;script&gt;'></p>",
        "\\<script>\n\n\\# x\n\n```a``b```\n\n*a*\\<script>\n\n![\\<script>](http://a.test/d/i)",
    ),
}


def converted(html: str, text: str | None = None) -> str:
    return markdown(content(html.encode(), "text/html; charset=utf-8", URL, text))


@pytest.mark.parametrize("name", CASES)
def test_pages(name: str) -> None:
    html, expected = CASES[name]
    assert converted(html) == expected


def test_lines_that_the_stored_text_lacks_are_left_out() -> None:
    html = "<p>Menu of all pages</p><pre>x\ny</pre><h2>T</h2><p>One <b>sentence</b>.</p><ul><li>a<li>b</ul><img src=i>"
    assert converted(html, "T\nOne sentence.\nb") == "## T\n\nOne **sentence**.\n\n- b\n\n![](http://a.test/d/i)"
    assert converted(html, "another text\nof other rules").startswith("Menu of all pages")


def test_rules_for_the_main_text_apply() -> None:
    rules = page_rules([], [MainText(match=".", keep=["#own"], drop=["i"])])
    html = b"<p>a</p><nav id=own>b <i>c</i> <header>d</header></nav>"
    assert markdown(content(html, None, URL, None, rules)) == "b\n\nd"


def test_links_are_mapped() -> None:
    found = content(b"<a href='/l'>x</a><p>A sentence.", None, URL, None)
    assert markdown(found, str.upper) == "[x](HTTP://A.TEST/L)\n\nA sentence."


_TEXT = st.text(st.sampled_from("ab 1.)#*_-+=~`[](){}<>!&;|\\:/\"'\n\té한"), max_size=30)


@given(st.lists(_TEXT, min_size=1, max_size=4), st.sampled_from(["p", "li", "td", "h2", "b", "span", "blockquote"]))
@settings(max_examples=300)
def test_text_never_becomes_markup(texts: list[str], tag: str) -> None:
    root = lxml.html.fromstring("<html><body><p>A sentence.</p></body></html>")
    parts = [lxml.html.fromstring(f"<{tag}></{tag}>") for _ in texts]
    for part, text in zip(parts, texts, strict=True):
        part.text = text
        root.body.append(part)
    html = lxml.html.tostring(root, encoding="unicode")
    back = lxml.html.document_fromstring(f"<div>{RENDERER.render(converted(html))}</div>")
    assert "".join(back.text_content().split()) == "".join(lxml.html.fromstring(html).text_content().split())
    allowed = {"html", "body", "div", "p", "br", "strong", "blockquote", "ul", "li", "h2"}
    assert {element.tag for element in back.iter()} <= allowed


@pytest.mark.parametrize(
    "html",
    [
        "<h2>x</h2>" * 20_000,
        "<table>" + "<tr><td colspan=1000>x<td>y" * 10_000,
        "<table><tr>" + "<td rowspan=1000>x" * 1000 + "<tr><td>y" * 1000,
        "<blockquote>" * 1900 + "x" + "<p>y" * 10_000,
        "<ul><li>" * 900 + "x",
        "<table><tr><td>" * 600 + "x",
        "<b><i><a href=x>" * 600 + "x",
        "<pre>" + "`\n" * 100_000,
    ],
    ids=["headings", "cells", "spans", "quotes", "lists", "tables", "phrases", "ticks"],
)
def test_hostile_pages_have_bounded_output(html: str) -> None:
    text = converted(html)
    assert "x" in text or "`" in text
    assert len(text) < 12 * len(html) + 1_000_000


def test_stored_texts() -> None:
    assert from_text("# a\n\tx\n\t  y\nName\n*b*", ["Name"]) == "\\# a\n\n```\nx\n  y\n```\n\n## Name\n\n\\*b\\*"


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(stored_text).failed == 0
