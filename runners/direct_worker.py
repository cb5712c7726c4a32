"""A worker process of `runners.direct`: Beam's own harness, which ends when its driver ends."""

import logging
import os
import signal
import sys
import threading
import time

logging.disable(logging.WARNING)  # Beam warns while it is imported of what is none of a user's business
from apache_beam.runners.worker import sdk_worker_main  # noqa: E402

logging.disable(logging.NOTSET)


def _end_with(parent: int) -> None:
    """A driver that was killed must not leave a worker behind that goes on asking servers."""
    while os.getppid() == parent:
        time.sleep(0.1)
    os._exit(1)


def main() -> None:
    """Run the harness. Ctrl-C is for the driver, which then tells the workers what to do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.getLogger("apache_beam").setLevel(logging.ERROR)  # its life as a worker is nobody's news
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    sdk_worker_main.main(sys.argv)


if __name__ == "__main__":
    main()
