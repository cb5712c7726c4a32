"""What pages and stylesheets need to look like themselves."""

import doctest

import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.parsing import css
from beamtrawl.transforms.parsing.requisites import of_page, of_stylesheet
from tests.support.tables import each_row

# a stylesheet: the references in it; those of @import have an @
STYLES = {
    "nothing": ("", []),
    "no quotes": ("p { background: url(a.png) no-repeat }", ["a.png"]),
    "quotes and blanks": ("""x: url( "a.png" ); y: URL('b c.png')""", ["a.png", "b c.png"]),
    "several in one value": ("src: url(a.eot?#x) format('eot'), url(a.woff2)", ["a.eot?#x", "a.woff2"]),
    "imports": ("@import 'a.css'; @IMPORT url(b.css) screen; @import\nurl(\"c.css\");", ["@a.css", "@b.css", "@c.css"]),
    "within a rule": ("@media print { p { mask: url(a.svg#m) } }", ["a.svg#m"]),
    "a set of images": ("image-set(url(a.png) 1x, url('b.png') 2x)", ["a.png", "b.png"]),
    "comments": ("/* url(no.png) */ x: url(a.png) /* @import 'no.css'", ["a.png"]),
    "a comment in a string": ("content: '/*'; x: url(a.png); content: '*/'", ["a.png"]),
    "text": ("content: 'url(no.png)'; content: \"@import 'no.css'\"", []),
    "names of vocabularies": ("@namespace svg url(http://www.w3.org/2000/svg); @charset 'utf-8'; x: url(a)", ["a"]),
    "escapes": (r"x: url(a\29.png); y: url('b\'.png'); z: url(c\0064 .png)", ["a).png", "b'.png", "cd.png"]),
    "escapes of no character": (r"x: url(\d800) url(\0) url(\ffffff)", ["\N{REPLACEMENT CHARACTER}"] * 3),
    "a line goes on": ("x: url('a\\\nb.png')", ["ab.png"]),
    "another function": ("x: my-url(no.png) local(no) attr(url)", []),
    "never closed": ("x: url(a.png", []),
    "quotes never closed": ("content: 'oh\n; x: url(a.png)", ["a.png"]),
    "no reference": ("x: url() url('')", [""]),
}


@each_row(STYLES)
def test_the_references_of_css(text: str, found: list[str]) -> None:
    assert ["@" * is_import + reference for reference, is_import in css.references(text)] == found


@given(st.text("url(@import'\"\\/*) \n;a0"))
def test_nothing_is_too_odd_to_read(text: str) -> None:
    assert all(isinstance(reference, str) for reference, _ in css.references(text))


@pytest.mark.parametrize("piece", ["url(", "@import ", "/*", "'", "\\", "url('", "url(\\a", "@import url( ", " "])
def test_the_time_to_read_css_is_linear(piece: str) -> None:
    assert list(css.references(piece * (1_000_000 // len(piece)))) == []


STYLE = (
    "text/css; charset=utf-8",
    b"x: url(../p.png) url(d\xc3\xa9.png) url(#m) url(data:,x) url(s.css) url(mailto:x)",
)
# a Content-Type and a stylesheet at http://a.test/c/s.css: its requisites
STYLESHEETS = {
    "CSS": (*STYLE, ["http://a.test/p.png", "http://a.test/c/d%C3%A9.png"]),
    "an answer that is no CSS": ("text/html", STYLE[1], []),
    "no type": (None, STYLE[1], []),
    "twice": ("text/css", b"@import '/a.css'; x: url(/a.css)", ["http://a.test/a.css"]),
}


@each_row(STYLESHEETS)
def test_the_requisites_of_a_stylesheet(type_: str | None, body: bytes, found: list[str]) -> None:
    assert [url for url, _ in of_stylesheet(body, "http://a.test/c/s.css", type_)] == found


# the HTML of a page at http://a.test/d/p: the paths of its requisites; those of stylesheets have an @
PAGES = {
    "nothing": ("<p>Text <a href=/no>Link</a>", []),
    "stylesheets come first": ("<img src=/a.png><link rel=StyleSheet href=s.css>", ["@/d/s.css", "/a.png"]),
    "icons": (
        "<link rel='shortcut icon' href=/i.ico><link rel=apple-touch-icon href=/t.png><link rel=next href=/no>",
        ["/i.ico", "/t.png"],
    ),
    "a script": ("<script src=/a.js></script><script>'/no.js'</script>", ["/a.js"]),
    "images": ("<img src=/a.png srcset='/b.png 2x, /c.png 3x'><picture><source srcset=/d.webp></picture>",
               ["/a.png", "/b.png", "/c.png", "/d.webp"]),
    "other images": ("<input type=image src=/a.png><video poster=/b.png src=/no.mp4></video>", ["/a.png", "/b.png"]),
    "backgrounds": ("<body background=/a.png><table><td background=/b.png>", ["/a.png", "/b.png"]),
    "style elements": ("<style>@import 'a.css'; p { x: url(/b.png) }</style>", ["@/d/a.css", "/b.png"]),
    "style attributes": ("<p style=\"background: url('/a.png')\">", ["/a.png"]),
    "a base": ("<base href=/e/><img src=a.png>", ["/e/a.png"]),
    "the page itself": ("<img src=''><img src='#x'><img src=/d/p><img>", []),
    "data": ("<img src='data:image/png;base64,AAAA'>", []),
    "twice": ("<img src=/a.css><img src=/a.css><link rel=stylesheet href=/a.css>", ["@/a.css"]),
    "frames are pages": ("<iframe src=/no></iframe><object data=/no></object>", []),
}  # fmt: skip


@each_row(PAGES)
def test_the_requisites_of_a_page(html: str, found: list[str]) -> None:
    requisites = of_page(html.encode(), "http://a.test/d/p", "text/html; charset=utf-8")
    assert ["@" * is_stylesheet + url.removeprefix("http://a.test") for url, is_stylesheet in requisites] == found


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(css).failed == 0
