"""The colours of the pages, light and dark, against what WCAG 2.2 asks for."""

import re
from itertools import product
from pathlib import Path

import pytest

STYLE = Path("search/gateway/static/style.css").read_text()
THEMES = [dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", part)) for part in STYLE.split("prefers-color-scheme: dark")]

LEAST = 4.5  # of text (1.4.3); the border of a field needs 3 (1.4.11)
# what is seen, on what
SEEN = [
    *product(("ink", "quiet", "link", "visited"), ("ground", "raised")),
    *product(("accent", "bad", "good"), ("ground",)),
    ("ink", "mark"),
    ("on-accent", "accent"),
]


def luminance(colour: str) -> float:
    """The relative luminance of #rrggbb, as WCAG defines it."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", THEMES[:2], ids=["light", "dark"])
def test_text_can_be_read(theme: dict[str, str]) -> None:
    assert [(ink, ground) for ink, ground in SEEN if contrast(theme[ink], theme[ground]) < LEAST] == []


def test_the_border_of_a_field_is_as_visible_as_text() -> None:
    (rule,) = re.findall(r"input,\nbutton \{([^}]*)\}", STYLE)
    assert "border: 1px solid var(--quiet)" in rule


def test_black_on_white() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
