"""What a page yields, as far as it tells a trap: a small row beside the page."""

from typing import Any

import pyarrow as pa

from transforms.novelty import page_words
from transforms.pages import Page, followed
from transforms.tables import KEY

YIELDS = pa.schema(
    [
        ("url_key", KEY),
        ("url", pa.string()),
        ("host", pa.string()),
        ("depth", pa.int32()),
        ("priority", pa.float64()),
        ("barren", pa.bool_()),
        ("words", pa.binary()),
    ]
)
STALE = pa.schema([("url_key", KEY)])
"""The pages of a round that hold nothing new."""


def yield_row(visit: dict[str, Any], page: Page) -> dict[str, Any]:
    """A row of YIELDS for a page that was visited for the first time."""
    links = dict.fromkeys(link.url for link in page.links if followed(link, page.nofollow))
    row = {name: visit[name] for name in ("url_key", "url", "host", "depth", "priority", "barren")}
    return row | {"words": page_words(page.title, page.text, visit["url"], links)}
