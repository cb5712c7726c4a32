"""Room on a disk for what must be written when it is full: a file that is removed then."""

import contextlib
import secrets
from collections.abc import Callable
from typing import TypeVar

from ..files import filesystem
from ..outcomes import is_full
from .crawl_dir import CrawlDir

T = TypeVar("T")

RESERVE = "reserve"
"""The file below a crawl directory on a local disk."""

_BYTES = 1 << 16  # a folder, and some small files


def keep_reserve(crawl: CrawlDir) -> None:
    """Write the reserve unless it is there; a disk without room for it gets none, and object stores need none."""
    with contextlib.suppress(OSError):
        if crawl.space() and not crawl.exists(RESERVE):
            crawl.write_text(RESERVE, secrets.token_hex(_BYTES // 2))  # random, as some file systems compress


def with_reserve(crawl: CrawlDir, write: Callable[[], T]) -> T:
    """Return what a function returns that writes little; on a full disk it gets the room of the reserve."""
    try:
        return write()
    except OSError as error:
        if not is_full(error) or not crawl.exists(RESERVE):
            raise
    filesystem.delete([crawl.path(RESERVE)])
    return write()
