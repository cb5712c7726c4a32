"""Extracts the references of CSS: of stylesheets, of `style` elements and of `style` attributes."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_ESCAPED = r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))"
_STRING = r"""(?:"(?:[^"\\\n]++|\\.)*+"|'(?:[^'\\\n]++|\\.)*+')"""
_TOKEN = re.compile(
    rf"""
      /\*.*?(?:\*/|\Z)                          # a comment
    | @(?:namespace|charset)\b[^;{{}}]*+        # names that are not fetched
    | (?P<import>@import\s*+)?
      (?:
          (?<![\w-])url\(\s*+(?P<reference>{_STRING}|(?:[^"'()\s\\]++|{_ESCAPED})++)\s*+\)
        | (?P<string>{_STRING})                 # a reference after @import only
      )
    """,
    re.DOTALL | re.IGNORECASE | re.VERBOSE,
)
_ESCAPE = re.compile(_ESCAPED, re.DOTALL)


class CssReference(NamedTuple):
    """A reference as written, without quotes and escapes."""

    reference: str
    is_import: bool  # of another stylesheet


def references(text: str) -> Iterator[CssReference]:
    """The references of CSS in order, also repeated ones, those to `data:` URLs and to parts of a document (`#id`).

    >>> list(references('@import "a.css"; p { background: url(b\\\\ c.png) }'))
    [CssReference(reference='a.css', is_import=True), CssReference(reference='b c.png', is_import=False)]
    """
    for token in _TOKEN.finditer(text):
        is_import = token["import"] is not None
        if found := token["reference"] or (is_import and token["string"]):
            unquoted = found[1:-1] if found[0] in "\"'" else found
            yield CssReference(_ESCAPE.sub(_unescaped, unquoted), is_import)


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1] is None:
        return "" if escape[2] == "\n" else escape[2]
    code = int(escape[1], 16)
    return chr(code) if 0 < code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else "\N{REPLACEMENT CHARACTER}"
