"""Ends a process when its parent ends."""

import os
import threading
import time

_EVERY = 0.1  # seconds


def end_with_parent(parent: int | None = None) -> None:
    """Make this process end soon after its parent, for whatever reason the parent ends.

    `parent` is its process id; without it, the parent must not have ended yet. A worker that outlived its driver or
    TaskManager would continue its requests to servers, concurrently with the worker that replaces it.
    """
    threading.Thread(target=_watch, args=(parent or os.getppid(),), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_EVERY)
    os._exit(1)
