"""The ending that most titles of a site share, such as `— Python 3.11.2 documentation`: no page of hits shows it."""

import re
from collections import Counter
from collections.abc import Sequence

SAMPLE = 16
"""The number of titles of a site in a language that are compared: enough for a majority."""

LEAST_TITLES = 4
"""The least number of titles that may share an ending."""

_SEPARATOR = re.compile(r"\s+[-–—|·:•»]\s+")


def shared_ending(titles: Sequence[str]) -> str:
    """The longest ending, from a separator between spaces on, that more than half of some titles have; or empty.

    >>> shared_ending(["Queues — Docs", "Streams — Docs", "Futures — aio — Docs", "Runners — Docs", "Glossary"])
    ' — Docs'
    """
    distinct = {" ".join(title.split()) for title in titles}
    found = Counter(title[match.start() :] for title in distinct for match in _SEPARATOR.finditer(title))
    least = max(LEAST_TITLES, len(distinct) // 2 + 1)
    return max((ending for ending, count in found.items() if count >= least), key=len, default="")


def first_part(title: str) -> str:
    """A title up to its first separator between spaces.

    >>> first_part("zipfile — ZIP archives — Docs"), first_part("Write-ahead logging")
    ('zipfile', 'Write-ahead logging')
    """
    return _SEPARATOR.split(title.strip(), maxsplit=1)[0]


def without_ending(title: str, ending: str) -> str:
    """A title without the ending that those of its site share.

    >>> without_ending("Queues — Docs", " — Docs"), without_ending("Docs", " — Docs")
    ('Queues', 'Docs')
    """
    return title.removesuffix(ending).strip() or title
