"""What is read of Markdown."""

import doctest
from datetime import UTC, datetime

import pytest

from beamtrawl.transforms.kinds.markdown import Markdown
from beamtrawl.transforms.parsing import front_matter
from beamtrawl.transforms.parsing.html_page import parse_page
from beamtrawl.transforms.parsing.robots_meta import Directives
from beamtrawl.transforms.parsing.source import Source
from tests.support.tables import each_row

URL = "http://a.test/dir/file.md"


def parse(text, content_type="text/markdown; charset=utf-8", url=URL, kinds=("html", "text", "markdown")):
    return parse_page(text if isinstance(text, bytes) else text.encode(), url, content_type, (), "robot", kinds)


def test_a_page():
    page = parse(
        """---\r
title: "Cod & \\"herring\\""\r
date: 2026-03-05\r
lang: de
tags:
  - sea
  - 'fish'
description: >
  Folded
  over lines
robots: noindex
---
A first line, *stressed*.

# Spring {#spring}

See [the *catch*](../catch.md "title"), [ref][r], <http://b.test/auto>, ![a ship](ship.png)
and[^1] ~~none~~ &amp; **all**.

- [ ] to do
- [x] done

| Fish | Tons |
|------|------|
| cod  | [7](/7) |

```python
def f():
    return "*x*"
```

Summer
======
<div hidden>hidden</div><script>x</script>

[r]: http://c.test/ref
[^1]: A note.
"""
    )
    assert page.text.splitlines() == [
        *(
            "A first line, stressed.",
            "Spring",
            "See the catch, ref, http://b.test/auto, and none & all.",
            "to do",
            "done",
        ),
        *("Fish", "Tons", "cod", "7", "\tdef f():", '\t    return "*x*"', "Summer", "A note."),
    ]
    assert (page.title, page.description, page.keywords) == ('Cod & "herring"', "Folded over lines", "sea, fish")
    assert (page.headings, page.language, page.charset) == (["Spring", "Summer"], "de", "utf-8")
    assert (page.published_at, page.noindex, page.nofollow) == (datetime(2026, 3, 5, tzinfo=UTC), True, False)
    assert [(link.url, link.anchor, link.kind) for link in page.links] == [
        ("http://a.test/catch.md", "the catch", "a"),
        ("http://c.test/ref", "ref", "a"),
        ("http://b.test/auto", "http://b.test/auto", "a"),
        ("http://a.test/dir/ship.png", "a ship", "img"),
        ("http://a.test/7", "7", "a"),
    ]


def test_a_page_without_front_matter_is_called_by_its_first_heading():
    page = parse("Ahoy\n\n## Catch\n\n---\n\nMore.")
    assert (page.title, page.text) == ("Catch", "Catch\nMore.")


MARKDOWN, TEXT, ANY = "text/markdown", "text/plain", "application/octet-stream"
NAME = "http://a.test/file"
# content type, URL, body, kinds; the media type, None if it is no document
TYPES = {
    "declared": (MARKDOWN, NAME, "*a*", ("markdown",), MARKDOWN),
    "by its older name": ("text/x-markdown", NAME, "*a*", ("markdown",), "text/x-markdown"),
    "text with the name of Markdown": (TEXT, URL, "*a*", ("text", "markdown"), MARKDOWN),
    "text with the longer name": (TEXT, f"{NAME}.MARKDOWN?x=1", "*a*", ("text", "markdown"), MARKDOWN),
    "any type with the name": (ANY, URL, "*a*", ("markdown",), MARKDOWN),
    "no type": (None, URL, "*a*", ("markdown",), MARKDOWN),
    "text that begins with HTML": (TEXT, URL, "<h1>a</h1>", ("markdown",), MARKDOWN),
    "text of another name": (TEXT, NAME, "*a*", ("text", "markdown"), TEXT),
    "Markdown is not wanted": (TEXT, URL, "*a*", ("text",), TEXT),
    "a page of that name": ("text/html", URL, "<p>a", ("html", "markdown"), "text/html"),
    "bytes of that name": (ANY, URL, b"\0\1\2\3", ("markdown",), None),
    "bytes of that name as text": (TEXT, URL, b"\0\1\2\3", ("text", "markdown"), TEXT),
}


@each_row(TYPES)
def test_what_is_markdown(content_type, url, body, kinds, expected):
    page = parse(body, content_type, url, kinds)
    assert (page and page.media_type) == expected


# fields, rest of the text
FRONT = {
    "none": ("# A\n", {}, "# A\n"),
    "a line between lines": ("---\nA sentence.\n---\n", {}, "---\nA sentence.\n---\n"),
    "not at the start": ("\n---\na: b\n---\n", {}, "\n---\na: b\n---\n"),
    "not closed": ("---\na: b\n", {}, "---\na: b\n"),
    "empty": ("---\n---\nA", {}, "A"),
    "closed by points": ("---\na: b\n...\nA", {"a": "b"}, "A"),
    "a byte order mark": ("\ufeff---\na: b\n---\nA", {"a": "b"}, "A"),
    "quotes and comments": ("---\na: 'it''s' # x\nb: c # d\n# e: f\n---\n", {"a": "it's", "b": "c"}, ""),
    "a colon in a value": ("---\ntitle: A: b\n---\n", {"title": "A: b"}, ""),
    "a list in a line": ("---\ntags: [a, 'b, c', \"d\"]\n---\n", {"tags": "a, b, c, d"}, ""),
    "nothing": ("---\na: null\nb:\nc: ~\n---\n", {"a": "", "b": "", "c": ""}, ""),
    "a block": ("---\na: |\n  b\n  c\nd: e\n---\n", {"a": "b c", "d": "e"}, ""),
    "TOML": ('+++\ntitle = "A"\ntags = ["b", "c"]\n[x]\ny = 1\n+++\nD', {"title": "A", "tags": "b, c"}, "D"),
    "broken TOML": ("+++\ntitle\n+++\nD", {}, "+++\ntitle\n+++\nD"),
    "too long": (f"---\na: {'b' * 70_000}\n---\n", {}, f"---\na: {'b' * 70_000}\n---\n"),
}


@each_row(FRONT)
def test_front_matter(text, fields, rest):
    assert front_matter.split(text) == (fields, rest)


def test_front_matter_is_text_and_no_markup():
    page = parse("---\ntitle: </title><base href=//b.test>\nlang: '\"><x>'\n---\n[a](b)")
    assert (page.title, [link.url for link in page.links]) == ("</title><base href=//b.test>", ["http://a.test/dir/b"])


def test_a_text_that_takes_too_much_time_is_given_up_and_the_next_is_read():
    def read(text):
        return parser.parse(Source(text, MARKDOWN, None, URL, "robot", Directives(), ""))

    parser = Markdown(seconds=0.1)
    with pytest.raises(ValueError, match="the Markdown process timed out"):
        read(b"![" * 400_000)
    assert read(b"*a*").text == "a"


def test_examples_in_docstrings():
    assert doctest.testmod(front_matter).failed == 0
