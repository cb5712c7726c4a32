"""The beginning of a text, without what a hit shows already and what says nothing."""

import re

from .snippets import CODE

LEAST_ENTRIES = 3
"""The least lines of a table of contents that begins a text."""

MAX_ENTRY = 80
"""The most characters of a line of a table of contents."""

_ENDS = (".", "!", "?", ":", "。", "！", "？")

_BLACK = re.compile(r"\S")
_LEADERS = (". . . .", ".....")


def without_title(text: str, title: str) -> str:
    """The text without a first line that repeats the title or its beginning or end, if there are further lines.

    >>> without_title("Herring\\nA fish.", "Herring – Fish of the sea"), without_title("Herring", "Herring")
    ('A fish.', 'Herring')
    """
    begin = len(text) - len(text.lstrip())
    end = text.find("\n", begin)
    line = text[begin:end] if end >= 0 else text[begin:]
    name, whole = (" ".join(words.split()).casefold() for words in (line, title))
    repeats = bool(name) and (f"{whole} ".startswith(f"{name} ") or f" {whole}".endswith(f" {name}"))
    rest = _BLACK.search(text, begin + len(line)) if repeats else None
    return text[rest.start() :] if rest else text


def without_contents(text: str) -> str:
    """The text without the lines that begin it, if they are a table of contents: LEAST_ENTRIES without a sentence.

    >>> without_contents("1. Tides\\n2. Reefs\\n3. Gulls\\nA tide is high water.")
    'A tide is high water.'
    """
    start, entries = 0, 0
    while start < len(text):
        end = text.find("\n", start)
        line = text[start : end if end >= 0 else len(text)]
        if line.startswith(CODE) or len(line) > MAX_ENTRY:
            break
        if line.rstrip().endswith(_ENDS):
            break
        if end < 0:
            return text  # all of it is short lines
        start, entries = end + 1, entries + bool(line.strip())
    return text[start:] if entries >= LEAST_ENTRIES else text


def without_leaders(text: str) -> str:
    """The text with spaces for lines of a table of contents, which lead to a number by dots; places stay the same.

    >>> without_leaders("Tides ..... 4\\nA tide is high water.")
    '             \\nA tide is high water.'
    """
    for leader in _LEADERS:
        pieces, done = list[str](), 0
        while (start := text.find(leader, done)) >= 0:
            begin, end = text.rfind("\n", done, start) + 1 or done, text.find("\n", start)
            line = text[begin : end if end >= 0 else len(text)]
            pieces += text[done:begin], " " * len(line) if line.rstrip()[-1:].isdecimal() else line
            done = begin + len(line)
        text = "".join([*pieces, text[done:]]) if pieces else text
    return text
