r"""Text as Markdown in which no character of it is markup (CommonMark 0.31, GFM).

Sources: CommonMark 2.4 (backslash escapes), 4.5 (fenced code), 6.1 (code spans), 6.3 (link destinations); GFM 4.10.
"""

import re

_SPECIAL = re.compile(
    r"[\\`*\[\]~]"
    r"|(?<![^\W_])_|_(?![^\W_])"  # within a word it marks no emphasis
    r"|<(?=[A-Za-z/!?]|$)"  # at the end, the next text may continue it
    r"|&(?=#?\w*(?:;|$))"
)
_LINE_START = re.compile(r"(?:#{1,6}(?=\s|$)|[-+](?=[\s|-]|$)|[>|]|=+\s*$|:(?=\s*-)|(\d{1,9})(?=[.)](?:\s|$)))")
_CLOSING = re.compile(r"(?:(?<=\s)|^)(#+)$")
_TICKS = re.compile("`+")
_DESTINATION = re.compile(r"[\\()<>]|&(?=#?\w+;)")


def escape(text: str) -> str:
    r"""Text within a line, which other text may continue.

    >>> escape("2 * [a](b) <b> &amp; snake_case _x_ ~~"), escape("a < b & c")
    ('2 \\* \\[a\\](b) \\<b> \\&amp; snake_case \\_x\\_ \\~\\~', 'a < b & c')
    """
    return _SPECIAL.sub(r"\\\g<0>", text)


def escape_start(line: str) -> str:
    r"""A line of a paragraph that begins no other block.

    >>> [escape_start(line) for line in ("# a", "- a", "3. a", "3.5", "===", "#a", "| a |")]
    ['\\# a', '\\- a', '3\\. a', '3.5', '\\===', '#a', '\\| a |']
    """
    match = _LINE_START.match(line)
    if match is None:
        return line
    place = match.end() if match[1] else 0
    return f"{line[:place]}\\{line[place:]}"


def heading(level: int, text: str) -> str:
    r"""A heading of a level from 1 to 6.

    >>> heading(2, "C #")
    '## C \\#'
    """
    return f"{'#' * level} {_CLOSING.sub(lambda match: chr(92) + match[1], text)}"


def code_span(text: str) -> str:
    r"""Code within a line; "" if the text is blank.

    >>> code_span("a`b"), code_span("`"), code_span(" a  b ")
    ('``a`b``', '`` ` ``', '`a b`')
    """
    text = " ".join(text.split())
    if not text:
        return ""
    ticks = "`" * next(n for n in range(1, len(text) + 2) if n not in {len(run) for run in _TICKS.findall(text)})
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def code_block(lines: list[str], language: str = "") -> list[str]:
    """The lines of a fenced code block, whose fence is longer than any run of backticks in it."""
    longest = max((len(run) for line in lines for run in _TICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence + language, *lines, fence]


def destination(url: str) -> str:
    r"""An absolute or relative URL as the destination of a link.

    >>> destination("http://a.test/b_(c)?x=1&copy;")
    'http://a.test/b_\\(c\\)?x=1\\&copy;'
    """
    return _DESTINATION.sub(r"\\\g<0>", "".join(url.split()))
