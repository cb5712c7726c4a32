"""URLs that traps never hold: patterns of the setting traps.allow and of `release`."""

import re
from collections.abc import Callable, Iterable

from ..urls.host_patterns import expression

AllowList = Callable[[str], bool]


def compile_allow_list(patterns: Iterable[str]) -> AllowList:
    """A function that returns whether a URL is exempt from holding by the patterns of the setting traps.allow.

    >>> compile_allow_list(["a.org/calendar/*"])("http://a.org/calendar/2099/1")
    True
    """
    expressions = [expression(pattern) for pattern in patterns]
    if not expressions:
        return lambda url: False
    matches = re.compile("|".join(expressions)).fullmatch
    return lambda url: bool(matches(url.partition("://")[2]))
