"""Derives the type of a page from its URL alone: its template, and its form without opaque tokens."""

import functools
import re

_EXTENSION = re.compile(r"\.[a-z][a-z0-9]{0,4}", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9#]+(?:[-_.,:T][0-9#]+)*")  # including dates
_DIGITS = re.compile(r"[0-9]+")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_TOKEN = re.compile(rf"{_UUID.pattern}|[A-Za-z0-9]{{8,}}", re.IGNORECASE)
_CHANGES = re.compile(r"(?<=[0-9])(?=[A-Za-z])|(?<=[A-Za-z])(?=[0-9])|(?<=[a-z])(?=[A-Z])")
_LONG_NUMBER = 9  # digits; a date has eight
_MANY_CHANGES = 4  # between letters and digits, and from lower to upper case: avx512vbmi2 and QuadCurve2D have three
_LONGEST_RUN = 3  # characters between changes on average; names have longer runs
_SHORTEST_MIXED = 12  # minimum characters of a mixed-case token; shorter names such as IPv4ToIPv6 look random
# Names with several numbers: chapters and sections of DocBook (ch01s02s03), vector types (uint8x16x4).
_NUMBERED = re.compile(r"[a-z]{1,8}[0-9]{1,3}([a-z]{1,2})[0-9]{1,3}(?:\1[0-9]{1,3})*", re.IGNORECASE)
_HEX = re.compile(r"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{12,}", re.IGNORECASE)


def template(target: str) -> str:
    """The template of a path and query: a pattern that it may share with thousands of others.

    Keeps the first folder and the sorted names of parameters; other names become `*`, numbers and dates `#`, opaque
    tokens `~`. Never raises; returns a template unchanged.

    >>> template("/calendar/2026/11?view=day&day=5")
    '/calendar/#/#?day&view'
    >>> template("/docs/howto/regex.html"), template("/"), template("/0fb2c58e91a7/cart")
    ('/docs/*/*.html', '/', '/~/*')
    """
    path, mark, query = target.partition("?")
    *folders, name = path.split("/")
    kinds = [_kind(folder) if number != 1 else _first(folder) for number, folder in enumerate(folders)]
    extension = _EXTENSION.fullmatch(name, max(name.rfind("."), 0))
    end = extension[0].lower() if extension else ""
    kinds.append(_kind(name[: len(name) - len(end)]) + end)
    names = sorted({_first(piece.partition("=")[0]) for piece in query.split("&")})
    return "/".join(kinds) + mark + "&".join(names)


def extension(target: str) -> str:
    """The extension of a path in lower case; empty if there is none.

    >>> extension("/pool/main/gtk4_4.8.DEB?x=1.html"), extension("/docs/v1.2/")
    ('.deb', '')
    """
    name = target.partition("?")[0].rpartition("/")[2]
    found = _EXTENSION.fullmatch(name, max(name.rfind("."), 0))
    return found[0].lower() if found else ""


@functools.lru_cache(1 << 12)
def family(template_: str) -> str:
    """The family of a template, a pattern shared by similar templates: the first folder and the end of the last name.

    >>> family("/shop/*/*.html?colour"), family("/maze/*/*/*/"), family("/*")
    ('/shop/**.html', '/maze/**/', '/**')
    """
    path = template_.partition("?")[0]
    folders, _, name = path.rpartition("/")
    first = "/".join(folders.split("/", 2)[:2])
    return f"{first}/**" + ("/" if name == "" else name.lstrip("*#~"))


def form(target: str) -> str | None:
    """A path and query with opaque tokens, such as session ids, replaced; None if it has none.

    >>> form("/s/4f9a02c7be11/page-2?t=1731999999"), form("/docs/python3/sha256.html?date=20261105")
    ('/s/~/page-2?t=~', None)
    """
    if not any(map(is_opaque, _TOKEN.findall(target))):
        return None
    return _TOKEN.sub(lambda token: "~" if is_opaque(token[0]) else token[0], target)


@functools.lru_cache(1 << 12)
def is_opaque(token: str) -> bool:
    """Whether a token of letters and digits looks generated rather than a name.

    >>> [is_opaque(token) for token in ("4f9a02c7", "QAbstractItemModel", "1731999999", "postgresql15", "20261105")]
    [True, False, True, False, False]
    >>> [is_opaque(token) for token in ("QuadCurve2D", "avx512vbmi2", "ch01s02s03", "uint8x16x4", "IPv4ToIPv6")]
    [False, False, False, False, False]
    """
    if token.isdecimal():
        return len(token) >= _LONG_NUMBER
    if _HEX.fullmatch(token) or _UUID.fullmatch(token):
        return True
    if not _DIGITS.search(token) or _NUMBERED.fullmatch(token) or len(set(_DIGITS.findall(token))) == 1:
        return False
    has_mixed_case = not token.islower() and not token.isupper()
    if len(token) < (_SHORTEST_MIXED if has_mixed_case else 0):
        return False
    return len(_CHANGES.findall(token)) >= max(_MANY_CHANGES, len(token) / _LONGEST_RUN)


@functools.lru_cache(1 << 12)
def _kind(segment: str) -> str:
    """What a template has instead of a name; cached, because the pages of a site share their folders."""
    if segment in ("", "~"):
        return segment
    if _NUMBER.fullmatch(segment):
        return "~" if is_opaque(segment) else "#"
    return "~" if (token := _TOKEN.fullmatch(segment)) and is_opaque(token[0]) else "*"


def _first(segment: str) -> str:
    """A name that is kept except for its digits."""
    kind = _kind(segment)
    return _DIGITS.sub("#", segment) if kind == "*" else kind
