"""Names of crawls that are searched together: those of their directories, or given ones as `NAME=DIR`."""

import os.path
import re
from collections.abc import Callable, Sequence

from ..errors import CrawlDirError
from .crawl_dir import CrawlDir

_NAME = re.compile(r"[\w.-]+")
_GIVEN = re.compile(r"([\w.-]+)=(.+)", re.DOTALL)
_REMOTE = re.compile(r"(?!https?:)\w[\w+.-]*://.", re.IGNORECASE)


def named_crawls(words: Sequence[str], is_crawl: Callable[[str], bool] | None = None) -> dict[str, CrawlDir]:
    """The crawls by their names, in the order of `words`, each a directory or `NAME=DIR`.

    A name is what a query has after `crawl:`: small letters, digits and `. _ -`; others in the name of a directory
    become `-`. CrawlDirError if two crawls have one name, or a directory is named twice.
    """
    found: dict[str, CrawlDir] = {}
    for word in words:
        given, directory = split(word, is_crawl or is_local_crawl)
        crawl = CrawlDir(directory)
        name = (given or _name_of(crawl.root)).casefold()
        for other, before in found.items():
            if before.root == crawl.root:
                raise CrawlDirError(f"{word}: this crawl is there twice; name it once")
            if other == name:
                raise CrawlDirError(
                    f"{before.root} and {crawl.root} are both named {name}; name one of them: NAME={directory}"
                )
        found[name] = crawl
    return found


def searched(words: Sequence[str]) -> CrawlDir | dict[str, CrawlDir]:
    """What a search takes: one crawl without its name, several with their names (`named_crawls`)."""
    crawls = named_crawls(words)
    return crawls if len(crawls) > 1 else next(iter(crawls.values()))


def split(word: str, is_crawl: Callable[[str], bool]) -> tuple[str, str]:
    """The name that a word gives to a directory, empty if it gives none, and the directory.

    A directory whose own name has an equals sign is meant as it stands if it is a crawl.

    >>> split("docs=./a", lambda path: False), split("./a", lambda path: False), split("a=b", "a=b".__eq__)
    (('docs', './a'), ('', './a'), ('', 'a=b'))
    """
    given = _GIVEN.fullmatch(word)
    return (given[1], given[2]) if given and not is_crawl(word) else ("", word)


def names_crawl(word: str) -> bool:
    """Whether a word is a crawl directory, or `NAME=DIR` of one; of a store, whether it can be one."""
    _, directory = split(word, is_local_crawl)
    return bool(_REMOTE.match(directory)) or is_local_crawl(directory)


def is_local_crawl(path: str) -> bool:
    """Whether a path is a crawl directory on this machine."""
    try:
        return not _REMOTE.match(path) and os.path.isdir(os.path.join(path, "manifests"))
    except (OSError, ValueError):  # a query may be too long for a name, or have a null character
        return False


def _name_of(root: str) -> str:
    """The name of a directory, of the characters that a name has.

    >>> _name_of("/srv/crawls/My docs"), _name_of("/")
    ('My-docs', 'crawl')
    """
    return "-".join(_NAME.findall(root.rstrip("/").rpartition("/")[2])) or "crawl"
