"""Rules of `/.well-known/tdmrep.json` (TDM Reservation Protocol, W3C CG, section "TDM File on the Origin Server")."""

import functools
import json
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from protego import Protego

from ..urls.path_rules import protego, rule_of, target_of

PATH = "/.well-known/tdmrep.json"

MAX_BYTES = 500 << 10
"""A larger file is an error: what is cut off is not JSON."""

_MAX_RULES = 1000


class Reservation(NamedTuple):
    """An entry of the file."""

    location: str
    reserved: bool
    policy: str = ""  # an http or https URL, or ""


class Reservations(NamedTuple):
    """The valid entries in order, at most 1000, and what was wrong with the file."""

    rules: tuple[Reservation, ...] = ()
    error: str = ""

    def match(self, url: str) -> Reservation | None:
        """The first entry whose location matches a canonical URL (there, "the most specific match is the first")."""
        target = target_of(url)
        return next((rule for rule in self.rules if not _pattern(rule.location).can_fetch(target, "*")), None)


def parse(body: bytes) -> Reservations:
    """The rules in the bytes of a file. Entries without a valid location and reservation are left out and counted."""
    if len(body) > MAX_BYTES:
        return Reservations(error=f"larger than {MAX_BYTES} bytes")
    try:
        entries: Any = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return Reservations(error=f"not JSON: {error}"[:200])
    if not isinstance(entries, list):
        return Reservations(error="not an array")
    found = [_entry(entry) for entry in entries[:_MAX_RULES]]
    rules = tuple(rule for rule in found if rule)
    problems = []
    if invalid := len(found) - len(rules):
        problems.append(f"{invalid} invalid entries")
    if len(entries) > _MAX_RULES:
        problems.append(f"entries after the first {_MAX_RULES} are ignored")
    return Reservations(rules, ", ".join(problems))


def _entry(entry: Any) -> Reservation | None:
    if not isinstance(entry, dict):
        return None
    location, policy, value = (entry.get(name) for name in ("location", "tdm-policy", "tdm-reservation"))
    reserved = {0: False, 1: True, "0": False, "1": True}.get(value) if isinstance(value, int | str) else None
    if not isinstance(location, str) or not location.startswith(("/", "*")) or reserved is None:
        return None
    if not location.isprintable():  # neither control characters nor lone surrogates: people read it
        return None
    return Reservation(location, reserved, policy if isinstance(policy, str) and _is_web(policy) else "")


def _is_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return len(url) <= 2048 and url.isprintable() and parts.scheme in ("http", "https") and bool(parts.netloc)


@functools.lru_cache(1 << 14)
def _pattern(location: str) -> Protego:
    escaped = location.replace("#", "%23")  # a comment in robots.txt, here a character of the path
    return protego([rule_of(False, escaped.encode())])
