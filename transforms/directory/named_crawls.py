"""Names of crawls that are searched together: those of their directories, or given ones as `NAME=DIR`."""

import re
from collections.abc import Sequence

from ..outcomes import MisnamedError
from .crawl_dir import CrawlDir
from .crawl_words import is_local_crawl, split

_NAME = re.compile(r"[\w.-]+")


def named_crawls(words: Sequence[str]) -> dict[str, CrawlDir]:
    """The crawls by their names, in the order of `words`, each a directory or `NAME=DIR`.

    A name is what a query has after `crawl:`: small letters, digits and `. _ -`; others in the name of a directory
    become `-`. CrawlDirError if two crawls have one name, or a directory is named twice.
    """
    found: dict[str, CrawlDir] = {}
    for word in words:
        given, directory = split(word, is_local_crawl)
        crawl = CrawlDir(directory)
        name = (given or _name_of(crawl.root)).casefold()
        for other, before in found.items():
            if before.root == crawl.root:
                raise MisnamedError(f"{word}: this crawl is there twice; name it once")
            if other == name:
                raise MisnamedError(
                    f"{before.root} and {crawl.root} are both named {name}; name one of them: NAME={directory}"
                )
        found[name] = crawl
    return found


def searched(words: Sequence[str]) -> CrawlDir | dict[str, CrawlDir]:
    """What a search takes: one crawl without its name, several with their names (`named_crawls`)."""
    crawls = named_crawls(words)
    return crawls if len(crawls) > 1 else next(iter(crawls.values()))


def _name_of(root: str) -> str:
    """The name of a directory, of the characters that a name has.

    >>> _name_of("/srv/crawls/My docs"), _name_of("/")
    ('My-docs', 'crawl')
    """
    return "-".join(_NAME.findall(root.rstrip("/").rpartition("/")[2])) or "crawl"
