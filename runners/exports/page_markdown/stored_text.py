"""Stored texts of documents as Markdown."""

from collections.abc import Collection, Iterator

from ....transforms.duplicates.digest import CODE
from .escapes import code_block, escape, escape_start, heading

_LEVEL = 2  # of headings, whose levels are not stored


def from_text(text: str, headings: Collection[str] = ()) -> str:
    r"""A text with a block a line (`main_text.Text`) as Markdown; its lines among `headings` are headings.

    >>> from_text("1. a*b\n\tcode\n\t  more\nName", ["Name"])
    '1\\. a\\*b\n\n```\ncode\n  more\n```\n\n## Name'
    """
    return "\n\n".join("\n".join(lines) for lines in _blocks(text, frozenset(headings)))


def _blocks(text: str, headings: frozenset[str]) -> Iterator[list[str]]:
    code: list[str] = []
    for line in text.split("\n"):
        if line.startswith(CODE):
            code.append(line[len(CODE) :])
            continue
        if code:
            yield code_block(code)
            code = []
        if line in headings:
            yield [heading(_LEVEL, escape(line))]
        elif line:
            yield [escape_start(escape(line))]
    if code:
        yield code_block(code)
