"""Reads the front matter of a Markdown page: metadata in YAML or TOML before its text."""

import re
import tomllib
from typing import NamedTuple

MAX_FRONT_MATTER = 65_536
"""Maximum number of characters of a front matter; longer ones are text."""

_BLOCK = re.compile(r"\ufeff?(---|\+\+\+)[ \t]*\r?\n(.*?)^(?:\1|\.\.\.)[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_YAML_LINE = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(.*))?")
_QUOTED = re.compile(r"""'((?:[^']|'')*+)'|"((?:[^"\\]|\\.)*+)\"""")
_COMMENT = re.compile(r"(?:^|\s)#.*")


class FrontMatter(NamedTuple):
    """The metadata before a text, and the text after it."""

    fields: dict[str, str]  # by lower-case name; the values of a list are joined with ", "
    text: str


def split(text: str) -> FrontMatter:
    """The front matter of a text, without fields if it has none; a broken one has those that can be read.

    YAML stands between lines of `---`, TOML between lines of `+++`, at the start of the text. Of YAML this reads what
    pages use: scalars, quoted or not, lists of scalars, and blocks of indented lines at the top level.

    >>> split("---\\ntitle: 'Cod'\\ntags: [sea, fish]\\n---\\n# Cod\\n")
    FrontMatter(fields={'title': 'Cod', 'tags': 'sea, fish'}, text='# Cod\\n')
    >>> split("---\\nA line between two lines.\\n---\\n").fields
    {}
    """
    match = _BLOCK.match(text[: MAX_FRONT_MATTER + 8])
    if not match:
        return FrontMatter({}, text)
    fields = _toml(match[2]) if match[1] == "+++" else _yaml(match[2])
    return FrontMatter(fields, text[match.end() :]) if fields or not match[2].strip() else FrontMatter({}, text)


def _toml(block: str) -> dict[str, str]:
    try:
        found = tomllib.loads(block)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}
    return {name.lower(): _joined(value) for name, value in found.items() if not isinstance(value, dict)}


def _joined(value: object) -> str:
    values = value if isinstance(value, list) else [value]
    return ", ".join(str(item) for item in values if not isinstance(item, dict | list))


def _yaml(block: str) -> dict[str, str]:
    """The fields of a block whose first line is one; {} for other text."""
    fields: dict[str, list[str]] = {}
    values: list[str] | None = None
    for line in block.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if match := _YAML_LINE.fullmatch(line.rstrip()):
            values = fields.setdefault(match[1].lower(), [])
            value = match[2] or ""
        elif values is None:
            return {}
        else:
            value = line.strip()
        values += _scalars(value)
    return {name: _text(values) for name, values in fields.items()}


def _scalars(value: str) -> list[str]:
    """The scalars in a line: one, those of a list in brackets, or that of an item of a list, marked with "- "."""
    value = value.strip()
    if value.startswith("[") and value.endswith("]"):
        parts = re.findall(rf"\s*({_QUOTED.pattern}|[^,]*)\s*(?:,|$)", value[1:-1])
        return [f"- {text}" for part in parts if (text := _scalar(part[0]))]
    is_item = value.startswith("- ")
    text = _scalar(value.removeprefix("- ").strip())
    return [f"- {text}" if is_item else text] if text else []


def _scalar(value: str) -> str:
    value = value.strip()
    if match := _QUOTED.match(value):
        return match[1].replace("''", "'") if match[1] is not None else re.sub(r"\\(.)", r"\1", match[2])
    value = _COMMENT.sub("", value).strip()
    return "" if value in ("|", ">", "|-", ">-", "|+", ">+", "null", "~") else value


def _text(values: list[str]) -> str:
    """Items of a list joined with ", "; lines of a block with a space."""
    items = [value.removeprefix("- ") for value in values]
    return (", " if any(value.startswith("- ") for value in values) else " ").join(items)
