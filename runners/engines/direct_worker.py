"""A worker process of `local_workers`: Beam's own harness, which ends when its driver ends.

    python -P -m beamtrawl.runners.engines.direct_worker DRIVER

DRIVER is the process id of the driver.
"""

import logging
import signal
import sys

from .parent_watch import end_with_parent


def main() -> None:
    """Run the harness. Ctrl-C and SIGTERM are for the driver, which then ends the workers."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    end_with_parent(int(sys.argv[1]))
    logging.disable(logging.WARNING)  # Beam's warnings while it is imported do not concern users
    from apache_beam.runners.worker import sdk_worker_main

    logging.disable(logging.NOTSET)
    logging.getLogger("apache_beam").setLevel(logging.ERROR)  # nor do its messages on the start and end of a worker
    sdk_worker_main.main(sys.argv)


if __name__ == "__main__":
    main()
