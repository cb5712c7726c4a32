"""Claims: files that say which process writes to a crawl directory.

`lock.json` is that of the one writer. A process that writes beside it, such as `seeds add`, registers itself in
`attempts/` before its first file. A claim has a random token. Whoever takes a claim over, or removes it, ends it: the
commits of its former owner are refused.

On a local disk a claim changes under `filesystem.guard`. On an object store each change is a conditional write, which
succeeds only if the claim is as it was read.
"""

import json
import os
import socket
import time
import uuid
from typing import Any, NamedTuple

from ..files import filesystem
from ..files.store import Tag

LOCK = "lock.json"

STALE = 60.0
"""Seconds without a heartbeat after which the owner of a lock counts as ended."""

REGISTERED = 3600.0
"""The same for a registration, which has no heartbeat."""


class Claim(NamedTuple):
    path: str  # below the crawl directory
    token: str


def new_token() -> str:
    return uuid.uuid4().hex[:16]


def render_owner(token: str, since: float | None = None) -> str:
    """The text of a claim of this process, as of now; `since` is when it was made, if that is not now."""
    now = time.time()
    owner = {"pid": os.getpid(), "host": socket.gethostname(), "beat": now, "since": since or now, "token": token}
    return json.dumps(owner)


def read_owner(root: str, path: str) -> dict[str, Any] | None:
    """The contents of a claim; None if there is none, empty if it cannot be understood."""
    return read_claim(root, path)[0]


def read_claim(root: str, path: str) -> tuple[dict[str, Any] | None, Tag | None]:
    """(`read_owner`, the version of the file if the store has versions)."""
    try:
        data, tag = filesystem.store_of(root).read(filesystem.join(root, path))
    except (FileNotFoundError, NotADirectoryError):
        return None, None
    try:
        return dict(json.loads(data)), tag
    except (ValueError, TypeError):  # of another program, or incomplete
        return {}, tag


def read_running(root: str) -> dict[str, Any] | None:
    """The claim on a crawl (pid, host, beat, since) of a process that has not ended; None if there is none."""
    owner = read_owner(root, LOCK)
    return owner if owner and "pid" in owner and not has_ended(owner, STALE) else None


def is_stale(owner: dict[str, Any], host: str, now: float, alive: bool, after: float) -> bool:
    """Whether an owner has ended: no such process on this machine, or no heartbeat for `after` seconds.

    Nor has one that lies so far in the future, by a clock that was wrong.
    """
    if owner.get("host") == host and not alive:
        return True
    return abs(now - float(owner.get("beat", 0.0))) > after


def may_run(owner: dict[str, Any]) -> bool:
    """Whether the owner of a stale claim may still run: on another machine, or if the clock of this one was changed."""
    return "pid" in owner and (owner.get("host") != socket.gethostname() or _is_alive(owner["pid"]))


def has_ended(owner: dict[str, Any], after: float) -> bool:
    """`is_stale` as of now, as seen from this machine."""
    return is_stale(owner, socket.gethostname(), time.time(), _is_alive(owner.get("pid")), after)


def _is_alive(pid: Any) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, TypeError, ValueError):
        return False
    except PermissionError:
        pass
    return True
