"""A worker process of `beamtrawl.runners.engines.direct`: Beam's own harness, which ends when its driver ends."""

import logging
import signal
import sys

logging.disable(logging.WARNING)  # Beam warns while it is imported of what is none of a user's business
from apache_beam.runners.worker import sdk_worker_main  # noqa: E402

from .parent_watch import end_with_parent  # noqa: E402

logging.disable(logging.NOTSET)


def main() -> None:
    """Run the harness. Ctrl-C is for the driver, which then tells the workers what to do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.getLogger("apache_beam").setLevel(logging.ERROR)  # its life as a worker is nobody's news
    end_with_parent()
    sdk_worker_main.main(sys.argv)


if __name__ == "__main__":
    main()
