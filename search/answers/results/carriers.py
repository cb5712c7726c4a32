"""Characters that nobody sees, and in which a page can hide a text for language models."""

import re

_CARRIERS = re.compile(
    "(\U0001f3f4[\U000e0030-\U000e007a]{1,6}\U000e007f)|[\U000e0000-\U000e007f]"
    "|(?<=[\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
"""Tag characters but those of a flag, and variation selectors after another: models read texts hidden in them."""


def without_carriers(text: str) -> str:
    """A text without such characters."""
    return text if text.isascii() else _CARRIERS.sub(r"\1", text)
