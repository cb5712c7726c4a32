"""Processes that end when the one that started them ends."""

import os
import threading
import time

_EVERY = 0.1  # seconds


def end_with_parent() -> None:
    """From now on this process ends soon after its parent, however that one ended.

    A worker that outlived its driver or TaskManager would go on asking servers, beside the one that replaces it.
    """
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_EVERY)
    os._exit(1)
