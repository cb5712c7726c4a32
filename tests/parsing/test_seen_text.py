"""The text of a page is what its reader sees: the forms in which generators of documentation and browsers show it.

Expected values: the HTML standard where it is named, and else `innerText` of headless Chromium 156. Unlike there,
what a click shows is text (tabs, `details`, `hidden=until-found`), a formula stands once, and sidebars are left out.
"""

from beamtrawl.transforms.parsing.html_page import Page, parse_page
from tests.support.tables import each_row


def page(html: str) -> Page:
    found = parse_page(html.encode(), "http://a.test/d/page.html", "text/html; charset=utf-8", [], "x")
    assert found is not None
    return found


PROSE = "<p>This manual is about bolts of the harbour crane and their maintenance in winter.</p>"

# what a page has in its main element: the lines of the text that it adds
SEEN = {
    # Docusaurus, Starlight: all panels of tabs but one
    "panels of tabs": (
        "<ul role=tablist><li role=tab>npm<li role=tab>yarn</ul><div role=tabpanel><pre><code>npm i quokka</code></pre>"
        "</div><div role=tabpanel hidden><pre><code>yarn add quokka</code></pre><p>Set the wombat flag.</div>",
        ["npm", "yarn", "\tnpm i quokka", "\tyarn add quokka", "Set the wombat flag."],
    ),
    "hidden until it is found": ("<div hidden=until-found>The kinkajou</div>", ["The kinkajou"]),
    "hidden": ("<div hidden>a</div><div hidden=hidden>b</div>", []),
    # PaperMod, a theme of Hugo
    "a hidden link of a heading to itself": (
        "<h2 id=use>Use<a hidden class=anchor aria-hidden=true href='#use'>#</a></h2>",
        ["Use"],
    ),
    "details": ("<details><summary>More</summary><p>inside</details>", ["More", "inside"]),
    # Starlight; Sphinx (docutils 0.18 and later) has its footnotes in an aside, too
    "a call-out": (
        "<aside aria-label=Caution class='starlight-aside'><p aria-hidden=true>Caution</p><p>Never twice.</aside>",
        ["Caution", "Never twice."],
    ),
    "an aside of links": ("<aside><a href=a>One</a> <a href=b>Two</a></aside>", []),
    "an aside that is a sidebar": ("<aside class=sidebar>This is a sidebar of the page</aside>", []),
    # HTML, 4.3.8: the header of a section introduces it
    "headings in the header of a section": (
        "<section><header><h2>Tightening</h2><p>by A</p></header><p>Turn it.</section>"
        "<article><header><h3>Greasing</h3></header></article>",
        ["Tightening", "Turn it.", "Greasing"],
    ),
    # Expressive Code, highlightjs-line-numbers
    "lines of code in blocks": (
        "<pre><code><div class=l><div><b>const</b> x = 1</div></div><div><div>  return x</div></div></code></pre>",
        ["\tconst x = 1", "\t  return x"],
    ),
    "lines of code in items": ("<pre><ol><li>a = 1<li>b = 2</ol></pre>", ["\ta = 1", "\tb = 2"]),
    "lines of code by style": (
        "<pre><span style='display:block'>a = 1</span><span style='color:red;display: block'>b = 2</span></pre>",
        ["\ta = 1", "\tb = 2"],
    ),
    "blocks by style": ("<p><span style=display:block>a</span><span style=display:block>b</span>", ["a", "b"]),
    # KaTeX, MathJax 3: MathML, TeX in an annotation, and what is drawn
    "a formula of KaTeX": (
        "<p>x <span class=katex><span class=katex-mathml><math><semantics><mrow><mi>E</mi><mo>=</mo><mi>m</mi></mrow>"
        "<annotation encoding=application/x-tex>E=m_0</annotation></semantics></math></span>"
        "<span class=katex-html aria-hidden=true><span>E</span><span>=</span><span>m</span></span></span> y",
        ["x E=m y"],
    ),
    "a formula of MathJax": (
        "<p>x <mjx-container><mjx-math aria-hidden=true><mjx-c>E</mjx-c></mjx-math>"
        "<mjx-assistive-mml><math><mi>E</mi></math></mjx-assistive-mml></mjx-container> y",
        ["x E y"],
    ),
    "no text of the page": (
        "<p>a<textarea>b</textarea><iframe src=x>c</iframe><video src=x>d</video><template>e</template>"
        "<noscript>f</noscript><object data=x>g</object>",
        ["ag"],
    ),
    "a shadow tree": ("<x-card><template shadowrootmode=open><p>inside</p></template></x-card>", ["inside"]),
}


@each_row(SEEN)
def test_what_a_reader_sees(html: str, lines: list[str]) -> None:
    found = page(f"<title>T</title><nav>n</nav><main><h1>Manual</h1>{PROSE}{html}</main>")
    assert found.text.split("\n")[2:] == lines


def test_headings_in_headers_of_sections() -> None:
    section = "<section id=%s><header><h2>%s</h2></header>" + PROSE + "</section>"
    found = page(
        f"<header><h2>Site</h2><h1>Manual</h1></header><main>{section % ('a', 'A')}{section % ('b', 'B')}</main>"
    )
    assert found.headings == ["Manual", "A", "B"]
    assert [section.id for section in found.sections] == ["", "a", "b"]


def test_links_in_svg_are_followed_by_either_attribute() -> None:
    """SVG 2, 16.1.3: `xlink:href` is read where there is no `href`; in HTML the name means nothing."""
    html = (
        "<svg><a xlink:href=a><text>A</text></a><a href=b xlink:href=no><text>B</text></a></svg><a xlink:href=no>C</a>"
    )
    assert [(link.url, link.anchor) for link in page(html).links] == [
        ("http://a.test/d/a", "A"),
        ("http://a.test/d/b", "B"),
    ]


def test_links_in_templates_and_ignored_framesets_are_none() -> None:
    html = (
        "<p>x<template><a href=a>A</a><template><a href=b>B</a></template></template><frameset><frame src=c></frameset>"
    )
    assert page(html).links == []
