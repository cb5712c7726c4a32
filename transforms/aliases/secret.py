"""The secret of a crawl: what samples are drawn with, so that no site can foresee which of its URLs are verified."""

import hashlib
import secrets

from ..directory.crawl_dir import CrawlDir, CrawlDirError

NAME = "secret"
"""The file of the crawl directory."""

_BYTES = 32


def crawl_secret(crawl: CrawlDir) -> bytes:
    """The secret of a crawl, which the first call makes; of several processes at once, all get the same.

    It is in no manifest and no table. On a local disk only the owner of the directory can read it.
    """
    if not crawl.exists(NAME):
        crawl.write_new(NAME, secrets.token_hex(_BYTES), mode=0o600)
    try:
        return bytes.fromhex(crawl.read_text(NAME))
    except ValueError as error:
        raise CrawlDirError(f"{crawl.path(NAME)} is not the secret of this crawl; move it elsewhere") from error


def name_key(crawl: CrawlDir) -> bytes:
    """The key that names of exported files are made with: by the secret of the crawl, random if it has none."""
    text = crawl.read_text(NAME).encode("utf-8", "replace") if crawl.exists(NAME) else secrets.token_bytes(_BYTES)
    return hashlib.blake2b(text, person=b"names of files", digest_size=_BYTES).digest()
