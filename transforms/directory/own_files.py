"""The files that the program itself can have written into a crawl directory, by their names: only these are removed.

A folder of a user may have the name of a table, so a name of the right form counts below a folder that holds a
manifest only; what has any other name is of somebody else, and stays.
"""

import re
from collections.abc import Iterable, Iterator

from ..files import filesystem
from ..files.store import is_draft
from ..tables.schemas import TABLES
from .crawl_dir import CrawlDir, MisnamedError

_ROUND, _ID = r"round=\d{6,}", "[0-9a-f]{8}"
_ATTEMPT = rf"\d{{6,}}-[a-z]+(-[0-9a-f]{{12}})?-{_ID}"
_OWN = re.compile(
    "|".join(
        (
            rf"({'|'.join(TABLES)})/{_ROUND}/(part(-\d{{4,}}-of-\d{{4,}})?|kept|merged|beside-{_ID}{_ID})-{_ID}{_ID}\.parquet",
            rf"index/(links-(merged|{_ID})/)?{_ROUND}/((shard-\d{{4,}}|merged)-)?{_ID}{_ID}/"
            r"(postings|positions|forms|words|docs|docstore)\.parquet",
            rf"attempts/{_ATTEMPT}(\.json|\.stop|-(piece|promises|progress|plan|scratch)\b[-.\w]*)",
            rf"attempts/import-([0-9a-f]{{12}}-[-.\w]+|input-(draft|{_ID * 4})\.warc)",
            rf"attempts/beside-{_ID}{_ID}\.json",
            rf"manifests/(\d{{6,}}-[a-z]+(-\w+)?|checkpoint-\d{{9,}}-{_ID})\.json",
            rf"blocks/{_ID}{_ID}\.json",
            r"crawl\.toml|estimate\.json|lock\.json|reserve|secret|demo\.txt",
        )
    )
)
_DRAFT = re.compile(rf"\.{_ID}\.tmp$")
_OF_SYSTEMS = re.compile(r"(.*/)?(\.DS_Store|Thumbs\.db|desktop\.ini)|(lost\+found|\.snapshot)/.*")


def is_own(path: str) -> bool:
    """Whether the program can have written a file, given its path below the crawl directory.

    >>> is_own("documents/round=000001/part-0123456789abcdef.parquet"), is_own("lock.json.0a1b2c3d.tmp")
    (True, True)
    >>> is_own("documents/round=000001/part-0001-of-0012-0123456789abcdef.parquet")
    True
    >>> is_own("index/round=000001/merged-0123456789abcdef/words.parquet")
    True
    >>> is_own("documents/thesis.odt"), is_own("documents/round=000001/part-1.parquet"), is_own("notes.0a1b2c3d.tmp")
    (False, False, False)
    """
    return bool(_OWN.fullmatch(_DRAFT.sub("", path) if is_draft(path) else path))


def removable(crawl: CrawlDir, paths: Iterable[str]) -> list[str]:
    """The files of the program among some paths below a crawl directory.

    None in a folder there that is a symbolic link: what it leads to may be of somebody else.
    """
    links = dict[str, bool]()
    return [path for path in paths if is_own(path) and not _is_linked(crawl, path.rpartition("/")[0], links)]


def remove(crawl: CrawlDir, paths: Iterable[str]) -> list[str]:
    """Remove the `removable` ones of some paths below a crawl directory, and return them.

    FileNotFoundError, at the end, if one is missing on a local disk.
    """
    own = removable(crawl, paths)
    filesystem.delete(crawl.path(path) for path in own)
    return own


def _is_linked(crawl: CrawlDir, folder: str, known: dict[str, bool]) -> bool:
    """Whether a folder below a crawl directory, or one above it there, is a symbolic link."""
    if folder and folder not in known:
        is_link = filesystem.store_of(crawl.root).is_link(crawl.path(folder))
        known[folder] = is_link or _is_linked(crawl, folder.rpartition("/")[0], known)
    return bool(folder) and known[folder]


def refuse_foreign(crawl: CrawlDir, way_out: str) -> None:
    """Raise MisnamedError, which ends with `way_out`, for a directory without a crawl that has other files, or a file.

    A `crawl.toml` says that the directory is meant; what a first step that was killed has left is no other file.
    """
    if filesystem.store_of(crawl.root).is_no_folder(crawl.root):
        raise MisnamedError(f"{crawl.root} is no directory; name another one")
    if crawl.exists("crawl.toml") or crawl.names("manifests", "*.json"):
        return
    if foreign := next(foreign_files(crawl), None):
        raise MisnamedError(f"{crawl.root} is not empty and holds no crawl (it has {foreign}); {way_out}")


def foreign_files(crawl: CrawlDir) -> Iterator[str]:
    """The files in a directory that the program cannot have written, in any order, as paths below it."""
    for path in filesystem.store_of(crawl.root).match(crawl.root, "**"):
        relative = path[len(crawl.root) :].replace("\\", "/").lstrip("/")
        if not is_own(relative) and not _OF_SYSTEMS.fullmatch(relative):
            yield relative
