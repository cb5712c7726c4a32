"""The secret of a crawl: what samples are drawn with, so that no site can foresee which of its URLs are verified."""

import os
import secrets

from ..directory.crawl_dir import CrawlDir
from ..files import filesystem

NAME = "secret"
"""The file of the crawl directory."""

_BYTES = 32


def crawl_secret(crawl: CrawlDir) -> bytes:
    """The secret of a crawl, which the first call makes; of several processes at once, all get the same.

    It is in no manifest and no table. On a local disk only the owner of the directory can read it.
    """
    if not crawl.exists(NAME):
        _write_new(crawl, secrets.token_hex(_BYTES))
    return bytes.fromhex(crawl.read_text(NAME))


def _write_new(crawl: CrawlDir, text: str) -> None:
    path = crawl.path(NAME)
    if not filesystem.is_local(path):
        crawl.write_new(NAME, text)
        return
    draft = f"{path}.{secrets.token_hex(4)}.tmp"
    with open(draft, "x", encoding="ascii", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    if not filesystem.rename_new(draft, path):
        filesystem.delete([draft])
