"""The language that the markup of a block of code names."""

import re

from turbohtml import Element, Text

_LANGUAGE = re.compile(
    r"(?:^|\s)(?:language|lang|highlight(?:-source)?|sourceCode|brush:)[-\s]\s*([A-Za-z][\w+#.-]{0,29})(?=[;\s]|$)"
)
_ATTRIBUTES = ("data-lang", "data-language")
_NAME = re.compile(r"[A-Za-z][\w+#.-]{0,29}")
_BARE = frozenset({"c", "cpp", "css", "go", "html", "java", "js", "json", "python", "rust", "sh", "sql", "xml", "yaml"})
"""Classes of a `pre` or `code` that are names of languages."""

_NONE = frozenset({"default", "none", "notranslate", "plain", "plaintext", "text", "source", "line-numbers"})


def write(pre: Element, text: str) -> None:
    """Make a `pre` one of that text, whose `code` has the language as the parser reads it."""
    language = _language_of(pre)
    pre.replace_with(
        Element("pre", {}, [Element("code", {"class": f"language-{language}"} if language else {}, [Text(text)])])
    )


def _language_of(pre: Element) -> str:
    """The language of a `pre`, by its class or that of the `code` in it, or of the two elements around it; else ""."""
    inside = [child for child in pre if isinstance(child, Element) and child.tag == "code"][:1]
    around = [ancestor for ancestor, _ in zip(pre.ancestors, range(2), strict=False) if isinstance(ancestor, Element)]
    for element in [*inside, pre, *around]:
        names = (element.attr("class") or "")[:500]
        candidates = [element.attr(name) or "" for name in _ATTRIBUTES] + _LANGUAGE.findall(names)
        if element not in around:
            candidates += [name for name in names.split() if name in _BARE]
        for name in candidates:
            if _NAME.fullmatch(name) and name.lower() not in _NONE:
                return str(name)
    return ""
