"""Patterns of URLs as commands and settings have them: HOST or HOST/PATTERN, in the syntax of `fnmatch`."""

import re

_PORT = re.compile(r":[0-9]+$")
_CLASS = re.compile(r"\[!?[^\]]+\]")
_IPV6 = re.compile(r"\[[0-9a-f]*:[0-9a-f:.]*\]")
_PARTS = re.compile(rf"(\*|\?|{_CLASS.pattern})")


def expression(pattern: str) -> str:
    """A regular expression, for `re` and RE2, of what follows `://` in the URLs that a pattern matches.

    A host alone matches all its URLs, at any port unless it names one. An IPv6 address in brackets is literal.

    >>> expression("[::1]:80/a*")
    '\\\\[::1\\\\]:80/a.*'
    """
    if "/" in pattern:
        return _translate(pattern)
    port = "" if _PORT.search(pattern) else "(?::[0-9]+)?"
    return f"{_translate(pattern)}{port}/.*"


def _translate(pattern: str) -> str:
    return "".join(_part(part) for part in _PARTS.split(pattern))


def _part(part: str) -> str:
    if part == "*":
        return ".*"
    if part == "?":
        return "."
    if _CLASS.fullmatch(part) and not _IPV6.fullmatch(part):
        inside = part[1:-1].replace("\\", r"\\").replace("[", r"\[")
        return f"[^{inside[1:]}]" if inside.startswith("!") else f"[{inside}]" if inside[0] != "^" else f"[\\{inside}]"
    return re.escape(part)
