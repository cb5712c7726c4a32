"""The blocks of a crawl directory: one file each in DIR/blocks/, so that any process may add, remove and read them."""

import dataclasses
import hashlib
import json

from ..directory.crawl_dir import CrawlDir
from ..files import filesystem
from ..outcomes import CrawlDirError
from .rules import Block, Blocks

FOLDER = "blocks"


class BlockFiles:
    """Reads the blocks of a crawl again and again: one listing each time, and every file once."""

    def __init__(self, crawl: CrawlDir) -> None:
        self._crawl = crawl
        self._read: dict[str, Block] = {}
        self._blocks = Blocks()

    def read(self) -> Blocks:
        """The blocks at this moment: the same object while no pattern is added or removed.

        CrawlDirError if a file holds no block, OSError if the store does not answer.
        """
        names = self._crawl.names(FOLDER, "*.json")
        if names != sorted(self._read):
            found = ((name, self._read.get(name) or self._read_one(name)) for name in names)
            self._read = {name: block for name, block in found if block}
            self._blocks = Blocks(self._read.values())
        return self._blocks

    def _read_one(self, name: str) -> Block | None:
        try:
            text = self._crawl.read_text(f"{FOLDER}/{name}")
        except OSError:
            if name in self._crawl.names(FOLDER, "*.json"):
                raise
            return None  # it was removed after the listing
        try:
            fields = json.loads(text)
            return Block(str(fields["pattern"]), str(fields["since"]), bool(fields["forget"]), str(fields["reason"]))
        except (ValueError, TypeError, KeyError) as error:
            raise CrawlDirError(f"{FOLDER}/{name} holds no block; remove it, and block its host anew") from error


def read_blocks(crawl: CrawlDir) -> Blocks:
    """The blocks of a crawl; CrawlDirError if a file holds none."""
    return BlockFiles(crawl).read()


def add_block(crawl: CrawlDir, block: Block) -> None:
    """Adds a block, or replaces that of the same pattern; it is durable and visible to all once this returns."""
    text = json.dumps(dataclasses.asdict(block), ensure_ascii=False)
    crawl.write_text(_path(block.pattern), text + "\n")


def remove_block(crawl: CrawlDir, pattern: str) -> None:
    """Removes the block of a pattern; on a local disk, OSError if there is none."""
    path = crawl.path(_path(pattern))
    filesystem.delete([path])
    filesystem.sync_folder(filesystem.split(path)[0])


def _path(pattern: str) -> str:
    return f"{FOLDER}/{hashlib.blake2b(pattern.encode(), digest_size=8).hexdigest()}.json"
