"""Writing beside the owner of the lock: registrations, and the files that a cleaning spares."""

import contextlib
from collections.abc import Iterator

from ..files import filesystem
from .claims import REGISTERED, Claim, has_ended, new_token, read_owner, render_owner
from .crawl_dir import CrawlDir
from .own_files import is_own

REGISTRATION = "attempts/beside-"
"""The prefix of the paths of registrations."""


@contextlib.contextmanager
def registered(crawl: CrawlDir) -> Iterator[tuple[CrawlDir, str]]:
    """(the crawl directory for a commit, the stem of the names of the new files) of a writer beside the crawl.

    `live_stems` has the stem until the body ends. A writer that owns the lock needs no registration.
    """
    if crawl.claim:
        yield crawl, "part"
        return
    token = new_token()
    claim = Claim(f"{REGISTRATION}{token}.json", token)
    with filesystem.guard(crawl.root):  # a cleaning removes drafts
        crawl.write_text(claim.path, render_owner(token))
    try:
        yield crawl.claimed(claim), _stem(token)
    finally:
        with contextlib.suppress(OSError):  # it was removed by a cleaning, or the next one removes it
            filesystem.delete([crawl.path(claim.path)])


def live_stems(crawl: CrawlDir, is_guarded: bool = False) -> list[str]:
    """The stems of the files of writers that are registered; removes the registrations of those that have ended.

    After that, these cannot commit any more. `is_guarded` says that the caller guards the crawl directory.
    """
    stems = []
    with contextlib.nullcontext() if is_guarded else filesystem.guard(crawl.root):
        for path in filter(is_own, crawl.paths("attempts", "beside-*.json")):
            owner = read_owner(crawl.root, path)
            if owner is None:
                continue
            if has_ended(owner, REGISTERED):
                filesystem.delete([crawl.path(path)])
            else:
                stems.append(_stem(str(owner.get("token"))))
    return stems


def _stem(token: str) -> str:
    return f"beside-{token}"
