"""Blocks of code: their lines, and the language that the markup names."""

import re
from collections.abc import Collection
from typing import Any

_LANGUAGE = re.compile(
    r"(?:^|\s)(?:language|lang|highlight(?:-source)?|sourceCode|brush:)[-\s]\s*([A-Za-z][\w+#.-]{0,29})(?=[;\s]|$)"
)
_ATTRIBUTES = ("data-lang", "data-language")
_NAME = re.compile(r"[A-Za-z][\w+#.-]{0,29}")
_BARE = frozenset({"c", "cpp", "css", "go", "html", "java", "js", "json", "python", "rust", "sh", "sql", "xml", "yaml"})
"""Classes of a `pre` or `code` that are names of languages."""

_NONE = frozenset({"default", "none", "notranslate", "plain", "plaintext", "text", "source", "line-numbers"})
_LINE_END = re.compile("\r\n|\r|\n")


def language_of(pre: Any) -> str:
    """The language of a `pre`, by its class or that of the `code` in it, or of the two elements around it; else ""."""
    inside = [child for child in pre if child.tag == "code"][:1]
    around = [each for each, _ in zip(pre.iterancestors(), range(2), strict=False)]
    for element in [*inside, pre, *around]:
        names = (element.get("class") or "")[:500]
        found = [element.get(name) or "" for name in _ATTRIBUTES] + _LANGUAGE.findall(names)
        if element not in around:
            found += [name for name in names.split() if name in _BARE]
        for name in found:
            if _NAME.fullmatch(name) and name.lower() not in _NONE:
                return str(name)
    return ""


def text_of(pre: Any, dropped: Collection[str]) -> str:
    """The text of a `pre`, a line feed for each `br`, without that of some elements."""
    parts = [pre.text or ""]
    stack = [(pre, iter(pre))]
    while stack:
        element, children = stack[-1]
        child = next(children, None)
        if child is None:
            stack.pop()
            parts.append((element.tail or "") if stack else "")
        elif child.tag == "br" or child.tag in dropped:
            parts.append(("\n" if child.tag == "br" else "") + (child.tail or ""))
        else:
            parts.append(child.text or "")
            stack.append((child, iter(child)))
    return "".join(parts)


def lines_of(text: str) -> list[str]:
    """The lines of code, without empty ones at the start and the end."""
    lines = [line.rstrip() for line in _LINE_END.split(text)]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    return lines
