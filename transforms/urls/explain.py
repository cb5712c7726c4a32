"""Explains how a reference became the fetched URL and its dedup form: the rules that changed it, step by step."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from . import dedup
from .canonical import CANONICAL_RULES, canonicalize, resolve

_PARTS = ("scheme", "user_info", "host", "port", "path", "query")
_SPLIT = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*:)[/\\]{2}(?P<user_info>[^/\\?#]*@)?(?P<host>\[[^\]]*\]|[^/\\?#:]*)"
    r"(?P<port>:[0-9]*)?(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?P<fragment>#.*)?",
    re.DOTALL,
)


class Step(NamedTuple):
    """A change made by a rule."""

    rule: str
    before: str
    after: str


def explain(reference: str, base: str | None = None) -> list[Step]:
    """The rules that changed a reference on its way to `canonical.canonicalize` and `canonical.dedup_form`, in order.

    First the steps of the URL standard, named by the part of the URL; then, if the URL can be fetched, the rules of
    `canonical.CANONICAL_RULES` and `dedup.RULES`, by name.

    >>> [step.rule for step in explain("HTTP://a.org/./b?utm_source=c#d")]
    ['scheme', 'path', 'drop_fragment', 'drop_tracking']
    """
    url = resolve(reference, base)
    if url is None:
        return []
    steps = list(_resolving(reference, base, url))
    is_fetched = canonicalize(reference, base) is not None
    for rule in (*CANONICAL_RULES, *dedup.RULES) if is_fetched else ():
        steps.append(Step(rule.__name__, url, rule(url)))
        url = steps[-1].after
    return [step for step in steps if step.before != step.after]


def _resolving(reference: str, base: str | None, url: str) -> Iterator[Step]:
    """The changes of the URL standard, by part of the URL; inseparable changes are one step, `standard`."""
    text = re.sub(r"[\t\n\r]", "", reference.strip("".join(map(chr, range(33)))))
    if resolve(text, base) == url:
        yield Step("trim", reference, text)
    else:
        text = reference
    if resolve(text) != url:
        yield Step("join", text, url)
        return
    after = _SPLIT.fullmatch(url)
    for part in _PARTS:
        before = _SPLIT.fullmatch(text)
        if before and after:
            parts = {name: value or "" for name, value in before.groupdict().items()}
            parts[part] = after[part] or ""
            changed = "{scheme}//{user_info}{host}{port}{path}{query}{fragment}".format(**parts)
            if changed != text and resolve(changed) == url:
                yield Step(part, text, changed)
                text = changed
    yield Step("standard", text, url)
