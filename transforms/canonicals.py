"""Canonical links: which page a page says it is a copy of, and whether that is to be believed (SPEC E7, RFC 6596)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from transforms import urls
from transforms.link_headers import parse_link
from transforms.replies import Headers

CROWD = 5
"""So many different contents of a host that name one page as theirs: a template's slip, often to the front page."""

Row = dict[str, Any]


class Ignored(StrEnum):
    """Why a canonical link is not believed."""

    ITSELF = "itself"
    """It is the page's own URL: nothing to join."""
    AMBIGUOUS = "ambiguous"
    """The page and its headers name different ones."""
    OTHER_DOMAIN = "other_domain"
    """It lies under another registered domain."""
    DEAD = "dead"
    """It is known to give nothing: an error, a refusal, or a redirect."""
    CHAIN = "chain"
    """The page it leads to names a third one, or this one."""
    CROWD = "crowd"
    """Many different pages of the host name it."""
    DIFFERENT = "different"
    """What it leads to has another content."""
