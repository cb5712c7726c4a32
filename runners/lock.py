"""One writer at a time: a lock file with an owner and a heartbeat."""

import contextlib
import json
import os
import socket
import threading
import time
from types import TracebackType
from typing import Any

from ..transforms.storage import filesystem
from ..transforms.storage.crawl_dir import CrawlDir, CrawlDirError
from .errors import LockedError

HEARTBEAT = 10.0  # seconds
STALE = 60.0  # seconds without a heartbeat after which an owner counts as ended


def is_stale(owner: dict[str, Any], host: str, now: float, alive: bool) -> bool:
    """Return whether a lock's owner has ended: no such process on this machine, or no heartbeat for STALE seconds."""
    if owner.get("host") == host and not alive:
        return True
    return now - float(owner.get("beat", 0.0)) > STALE


class Lock:
    """Held while the body runs; refuses a crawl directory that another process writes to."""

    def __init__(self, directory: CrawlDir, heartbeat: float = HEARTBEAT) -> None:
        self._directory = directory
        self._heartbeat = heartbeat
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> "Lock":
        owner = self._owner()
        if owner and not is_stale(owner, socket.gethostname(), time.time(), _is_alive(owner.get("pid"))):
            raise LockedError(
                f"{self._directory.root} is in use by process {owner.get('pid')} on {owner.get('host')};"
                " wait for it, or stop it"
            )
        if owner is not None:
            filesystem.delete([self._directory.path("lock.json")])
        if not self._directory.write_new("lock.json", self._me()):
            raise LockedError(f"{self._directory.root} was taken by another process just now; wait for it, or stop it")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        filesystem.delete([self._directory.path("lock.json")])

    def _owner(self) -> dict[str, Any] | None:
        if not self._directory.exists("lock.json"):
            return None
        try:
            return dict(json.loads(self._directory.read_text("lock.json")))
        except (ValueError, TypeError):  # of another program, or incomplete
            return {}

    def _me(self) -> str:
        return json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "beat": time.time()})

    def _beat(self) -> None:
        while not self._stop.wait(self._heartbeat):
            with contextlib.suppress(CrawlDirError):  # such as a full disk: the next write may succeed
                self._directory.write_text("lock.json", self._me())


def _is_alive(pid: Any) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, TypeError, ValueError):
        return False
    except PermissionError:
        pass
    return True
