"""The program `beamtrawl`."""

import logging
import sys


def main() -> int:
    """The console script."""
    words = sys.argv[1:]
    quiet("--debug" in words)
    from .program import run  # imports Beam, which logs while it is imported

    return run(words)


def quiet(debug: bool) -> None:
    """Beam warns of much that is none of a user's business; errors come through."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    if not debug:
        handler.addFilter(lambda record: record.levelno >= logging.ERROR or "apache_beam" not in record.pathname)
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


if __name__ == "__main__":
    sys.exit(main())
