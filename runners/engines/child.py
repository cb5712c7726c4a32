"""Runs a command until it ends, or until this process's parent ends, which then ends the command.

    python -m beamtrawl.runners.engines.child COMMAND …

For programs that cannot watch their parent, such as Beam's job server: after a driver that was killed, it would run on.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence

_EVERY = 0.2  # seconds
_STOP_SECONDS = 10.0


def main(words: Sequence[str]) -> int:
    """Return the exit code of the command. Ctrl-C does not reach it: the driver decides when it ends."""
    parent = os.getppid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    is_asked = False

    def ask(*_: object) -> None:
        nonlocal is_asked
        is_asked = True

    signal.signal(signal.SIGTERM, ask)
    with subprocess.Popen(words, start_new_session=True) as process:
        while process.poll() is None and not is_asked and os.getppid() == parent:
            _wait(process, _EVERY)
        for end in (process.terminate, process.kill):
            if process.poll() is None:
                end()
                _wait(process, _STOP_SECONDS)
    return process.returncode


def _wait(process: subprocess.Popen, seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
