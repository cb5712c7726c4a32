"""The identifiers of programs in a text: words such as gtk_widget_show, std::vec, pandas.Series and QuadCurve2D."""

import re

MOST = 1_000
"""Maximum number of identifiers of a text."""

_IDENTIFIER = re.compile(
    r"(?<![^\W_])(?:"
    r"[A-Za-z]+[0-9]*(?:(?:_+|::|\.)[A-Za-z]+[0-9]*)+"
    r"|[A-Z]?[a-z]+[0-9]*(?:[A-Z][a-z]*[0-9]*)+"
    r")(?![^\W_])"
)


def identifiers(text: str) -> list[str]:
    """The first distinct identifiers of a text, in order.

    >>> identifiers("Call gtk_widget_show(). See _mm256_add_epi16, std::vec::push, pandas.Series or getElementById.")
    ['gtk_widget_show', 'mm256_add_epi16', 'std::vec::push', 'pandas.Series', 'getElementById']
    >>> identifiers("Open from 9:30. Token 4f9a02c711, version 1.2, see: the end.")
    []
    """
    return list(dict.fromkeys(match[0] for match in _IDENTIFIER.finditer(text)))[:MOST]
