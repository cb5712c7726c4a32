"""Pages made to hurt a crawl, and what each does to a process of its own.

python -m tests.support.poison: the costs as JSON
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

_DIV = b"<div>"
_WORDS = b"<p>All that could be read of it.</p>"

POISONS: dict[str, Callable[[], bytes]] = {
    "nested 100,000 deep": lambda: _WORDS + _DIV * 100_000 + b"x",
    "nested without end": lambda: _WORDS + b"<a><b><i>" * 1_000_000,
    "closed a million times": lambda: _WORDS + _DIV * 300 + b"</p>" * 1_000_000,
    "an attribute of 50 MB": lambda: _WORDS + b"<p title='" + b"x" * 50_000_000 + b"'>y",
    "a million attributes": lambda: _WORDS + b"<p " + b" ".join(b"%x" % n for n in range(1_000_000)) + b">y",
    "a million attributes with values": lambda: _WORDS + b"<p" + b"".join(b"/a%x='>'" % n for n in range(500_000)),
    "attributes without end": lambda: _WORDS + b"<p a='' " * 1_000_000,
    "many attributes of many tags": lambda: _WORDS + (b"<p " + b" ".join(b"%x" % n for n in range(99)) + b">") * 20_000,
    "a million links": lambda: _WORDS + b"".join(b"<a href=%x>" % n for n in range(1_000_000)),
    "a million closed links": lambda: _WORDS + b"".join(b"<a href=%x></a>" % n for n in range(1_000_000)),
    "a million headings": lambda: _WORDS + b"<h2>x</h2>" * 1_000_000,
    "a million meta tags": lambda: _WORDS + b"<meta name=a content=b>" * 1_000_000,
    "a million times": lambda: _WORDS + b"<time>1</time>" * 1_000_000,
    "a million pictures": lambda: _WORDS + b"<img srcset='a 1x,b 2x'>" * 1_000_000,
    "50 MB of text": lambda: _WORDS + b"word " * 10_000_000,
    "10 MB of NUL": lambda: _WORDS + b"\0" * 10_000_000,
    "10 MB of no character": lambda: _WORDS + b"\xff" * 10_000_000,
    "a billion laughs": lambda: _billion_laughs() + _WORDS + b"&l29;",
    "entities": lambda: _WORDS + b"&lt;&#1;&#xd800;&bogus" * 500_000,
    "half a pair of UTF-16": lambda: b"\xff\xfe" + _WORDS.decode().encode("utf-16le") + b"\x3d\xd8" * 5_000_000,
    "UTF-16 that lost a byte": lambda: b"\xff\xfe" + _WORDS.decode().encode("utf-16le") + b"\0" + b"a\0" * 1_000_000,
    "all encodings": lambda: _WORDS + "가é".encode() * 500_000 + "가".encode("euc-kr") * 500_000 + b"\x1b$B" * 500_000,
    "nothing but <": lambda: _WORDS + b"<" * 10_000_000,
    "comments": lambda: _WORDS + b"<!---->" * 1_000_000,
    "links within links": lambda: _WORDS + b"".join(b"<a href=%d><div>" % n for n in range(900)) + b"<b></b>" * 200_000,
    "titles within pictures": lambda: _WORDS + _DIV * 900 + b"<svg><title>a</title></svg>" * 50_000,
    "commas": lambda: _WORDS + b"<img srcset='" + b"," * 5_000_000,
    "digits": lambda: _WORDS + b"<meta http-equiv=refresh content='" + b"1" * 4_000_000 + b"'>",
    "terms": lambda: _WORDS + b"<dl>" + b"".join(b"<dt id=%x>a<dd>b" % n for n in range(500_000)),
    "lists of terms": lambda: _WORDS + b"<dl></dl><p>x" * 500_000,
    "emphasis that is repeated": lambda: _WORDS + _distinct(b"<b id=%d>", 600) + b"</p>" + b"<p>x" * 1_000_000,
    "emphasis with long attributes": lambda: _WORDS + _distinct(b"<b id=%0300d>", 600) + b"</p>" + b"<p>x" * 15_000,
    "emphasis that seems closed": lambda: _WORDS + _distinct(b'<b id=%d c=">x</b>">', 600) + b"</p>" + b"<p>x" * 99_999,
    "emphasis in cells": lambda: _WORDS + (_distinct(b"<i id=%d>", 400) + b"<table><td>") * 400,
    "emphasis without attributes": lambda: _WORDS + b"<b><i><u><s><tt>" * 3 + b"</p>" + b"<p>x" * 1_000_000,
    "links in tables": lambda: _WORDS + b"<a href=x>y<table><td>" * 200_000,
    "tables in tables": lambda: _WORDS + b"<table><tr><td>" * 300_000,
    "templates in templates": lambda: _WORDS + b"<template>" * 450_000,
    "shadow trees": lambda: _WORDS + b"<p><template shadowrootmode=open>x" * 150_000,
    "pages for browsers without scripts": lambda: _WORDS + b"<noscript><p>x</noscript>" * 120_000,
    "headers of headers": lambda: _WORDS + b"<header data-nosnippet>" * 450 + b"<h1>x</h1>" * 200_000,
    "asides of asides": lambda: _WORDS + b"<main>" + b"<aside>" * 450 + b"x " * 2_000_000,
    "formulas": lambda: _WORDS + b"<math><mi>x</mi></math>" * 150_000,
    "code in code": lambda: _WORDS + b"<pre><div>x" * 400_000,
    "headings in headings": lambda: _WORDS + b"<h1><div>x" * 400_000,
    "blocks by style": lambda: _WORDS + b"<span style=display:block>x" * 180_000,
    "SVG in SVG": lambda: _WORDS + b"<svg><foreignObject><a xlink:href=x>" * 120_000,
    "what is hidden": lambda: _WORDS + b"<div hidden role=navigation data-nosnippet>x" * 110_000,
    "lists in lists": lambda: _WORDS + b"<ul><li id=x>y" * 330_000,
    "a comment without end": lambda: _WORDS + b"<!--" + b"-" * 9_000_000,
    "a script without end": lambda: _WORDS + b"<script><!--<script>" + b"</script" * 1_000_000,
    "a title without end": lambda: _WORDS + b"<title>" + b"x " * 4_000_000,
    "sections of a select": lambda: _WORDS + b"<select><option><optgroup>" * 190_000,
    "names": lambda: _WORDS + b"".join(b"<p class='nav %x'>" % n for n in range(1_000_000)),
}


def _distinct(tag: bytes, count: int) -> bytes:
    return b"<p>" + b"".join(tag % n for n in range(count))


class Cost(NamedTuple):
    """What parsing a page gave and took."""

    page: dict[str, Any]  # text (its first 100 characters), characters, links, headings, truncated
    megabytes: int  # of resident memory at its peak, above what the process had before
    seconds: float  # of CPU time


def measure() -> dict[str, Cost]:
    """The cost of each page. If they are not all parsed within ten minutes, none is."""
    command = [sys.executable, "-m", "tests.support.poison"]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE, timeout=600)
    return {name: Cost(*cost) for name, cost in json.loads(done.stdout).items()}


def _billion_laughs() -> bytes:
    entities = b"".join(b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 30))
    return b'<!DOCTYPE html [<!ENTITY l0 "ha">' + entities + b"]>"


def _cost(body: bytes) -> Cost:
    """Parses in a fork, whose peak of memory begins at what this process has."""
    reader, writer = os.pipe()
    before = _resident_kilobytes()
    child = os.fork()
    if not child:
        os.write(writer, json.dumps(_facts(body)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        page = json.loads(pipe.read())
    _, _, usage = os.wait4(child, 0)
    return Cost(page, (usage.ru_maxrss - before) // 1024, usage.ru_utime + usage.ru_stime)


def _resident_kilobytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def _facts(body: bytes) -> dict[str, Any]:
    from beamtrawl.transforms.parsing.html_page import parse_page  # noqa: PLC0415

    page = parse_page(body, "http://a.org/", "text/html", [], "reader")
    assert page is not None
    for text in (page.title, page.text, page.description, *page.headings):
        text.encode()
    return {
        "text": page.text[:100],
        "characters": len(page.text),
        "links": len(page.links),
        "headings": len(page.headings),
        "truncated": page.truncated,
    }


if __name__ == "__main__":
    _facts(_WORDS * 20)  # loads what is loaded once
    print(json.dumps({name: _cost(body()) for name, body in POISONS.items()}))
