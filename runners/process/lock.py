"""One writer at a time: a lock file with an owner, a token and a heartbeat."""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from ...transforms.directory import claims
from ...transforms.directory.crawl_dir import CrawlDir, CrawlDirError
from ...transforms.files import filesystem
from ...transforms.files.store import Tag
from ..terminal.errors import LockedError

HEARTBEAT = 10.0  # seconds
_LOOK_SECONDS = 1.0  # between looks at the lock of an owner that may have ended
HEARTBEAT_THREAD = "heartbeat of a lock"


class Lock:
    """Held while the body runs; refuses a crawl directory that another process writes to.

    Gives the crawl directory with the claim of this lock: its commits are refused once another process has taken over,
    which it does after `stale` seconds without a heartbeat. `on_lost` is called then, in a thread of the lock; the body
    ends with LockedError, whatever else has failed in it since.
    """

    def __init__(
        self,
        directory: CrawlDir,
        on_lost: Callable[[], None] = lambda: None,
        heartbeat: float = HEARTBEAT,
        stale: float = claims.STALE,
    ) -> None:
        self._directory = directory
        self._on_lost = on_lost
        self._heartbeat, self._stale = heartbeat, stale
        self._claim = claims.Claim(claims.LOCK, claims.new_token())
        self._store = filesystem.store_of(directory.root)
        self._tag: Tag | None = None  # of the lock, where the store has versions
        self._since = time.time()
        self._is_lost = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name=HEARTBEAT_THREAD, daemon=True)

    def __enter__(self) -> CrawlDir:
        ended = _ended_owner(self._directory.root, self._stale)
        with self._guarded():
            owner, self._tag = claims.read_claim(self._directory.root, claims.LOCK)
            if owner and "pid" in owner and owner != ended:
                raise _in_use(self._directory.root, owner)
            if not self._write() or not self._is_mine():  # a file system of Beam has no guard
                raise LockedError(
                    f"{self._directory.root} was taken by another process just now; wait for it, or stop it"
                )
        self._store.keep(self._directory.root)
        self._thread.start()
        return self._directory.claimed(self._claim)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._stop.set()
        self._thread.join()
        try:
            with self._guarded():
                if self._release():
                    return
        finally:
            self._store.release(self._directory.root)
        if error is None or isinstance(error, Exception):  # such as a file that whoever took over has removed
            try:
                self._directory.claimed(self._claim).require_claim()
            except CrawlDirError as lost:
                raise LockedError(str(lost)) from error

    def _beat(self) -> None:
        while not self._stop.wait(self._heartbeat):
            with contextlib.suppress(OSError, LockedError):  # such as a full disk: the next write may succeed
                try:
                    with self._guarded():
                        self._is_lost = not ((self._store.has_versions or self._is_mine()) and self._write())
                except CrawlDirError as error:  # the directory was moved
                    if isinstance(error, OSError):
                        raise
                    self._is_lost = True
                if self._is_lost:
                    self._on_lost()
                    return

    def _release(self) -> bool:
        """Removes the lock, if this is the owner; returns whether it was."""
        if self._store.has_versions:
            # Objects are not deleted: a deletion has no condition. The text has no owner.
            return self._replace(json.dumps({"released": time.time()}))
        is_mine = self._is_mine()
        if is_mine:
            filesystem.delete([self._directory.path(claims.LOCK)])
        return is_mine

    def _write(self) -> bool:
        """Writes the lock; returns whether this is the owner then, True where the store has no versions."""
        return self._replace(claims.render_owner(self._claim.token, self._since))

    def _replace(self, text: str) -> bool:
        tag = self._store.replace(self._directory.path(claims.LOCK), text.encode(), self._tag)
        self._tag = tag or self._tag
        return tag is not None

    def _owner(self) -> dict[str, Any] | None:
        return claims.read_owner(self._directory.root, claims.LOCK)

    def _is_mine(self) -> bool:
        owner = self._owner()
        return owner is not None and owner.get("token") == self._claim.token

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            with filesystem.guard(self._directory.root):
                yield
        except TimeoutError as error:
            owner = self._owner() or {}
            raise _in_use(self._directory.root, owner, ", which does not answer; stop it") from error


@contextlib.contextmanager
def guarded(directory: CrawlDir) -> Iterator[CrawlDir]:
    """Excludes other writers without a lock file, for which a full disk has no room; for seconds, on a local disk.

    LockedError if another process holds the lock.
    """
    ended = _ended_owner(directory.root, claims.STALE)
    with filesystem.guard(directory.root):
        owner = claims.read_owner(directory.root, claims.LOCK)
        if owner and "pid" in owner and owner != ended:
            raise _in_use(directory.root, owner)
        yield directory


def _ended_owner(root: str, stale: float) -> dict[str, Any] | None:
    """Return the former owner of a lock, None without one; LockedError if it runs.

    Clocks differ, and are changed: an owner that may run although its last heartbeat is old has ended if it gives no
    other for half of `stale`, by the monotonic clock of this process.
    """
    owner = claims.read_owner(root, claims.LOCK)
    if not owner or "pid" not in owner:
        return owner
    if not claims.has_ended(owner, stale):
        raise _in_use(root, owner)
    end = time.monotonic() + (stale / 2 if claims.may_run(owner) else 0)
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(_LOOK_SECONDS, left))
        if (now := claims.read_owner(root, claims.LOCK)) != owner:
            raise _in_use(root, now or owner)
    return owner


def _in_use(root: str, owner: dict[str, Any], then: str = "; wait for it, or stop it") -> LockedError:
    return LockedError(f"{root} is in use by process {owner.get('pid')} on {owner.get('host')}{then}")
