"""Stored texts of documents as Markdown."""

import itertools
from collections.abc import Collection

from turbohtml import Element, Text

from ....transforms.duplicates.digest import CODE
from .content import FORM

_HEADING = "h2"  # the levels of headings are not stored


def from_text(text: str, headings: Collection[str] = ()) -> str:
    r"""A text with a block a line (`main_text.Text`) as Markdown; its lines among `headings` are headings.

    >>> from_text("1. a*b\n\tcode\n\t  more\nName", ["Name"])
    '1\\. a\\*b\n\n```\ncode\n  more\n```\n\n## Name'
    """
    names, body = frozenset(headings), Element("body")
    for is_code, lines in itertools.groupby(text.split("\n"), lambda line: line.startswith(CODE)):
        if is_code:
            body.append(Element("pre", {}, [Text("\n".join(line[len(CODE) :] for line in lines))]))
        else:
            body.extend(Element(_HEADING if line in names else "p", {}, [Text(line)]) for line in lines if line)
    return body.to_markdown(FORM)
