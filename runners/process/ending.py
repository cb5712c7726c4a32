"""The end of a process of this program."""

import atexit
import contextlib
import os
import sys


class Ending:
    """Ends the process without the interpreter's finalization, which leaves its memory to the system.

    To be made before anything else that registers functions with atexit: those run before it, after all threads but
    daemons have ended. Threads of Arrow hold objects of Python for a moment after a read from an object store has
    returned; if the interpreter is finalized meanwhile, they abort or block the process (apache/arrow#33975, #50482).
    """

    def __init__(self) -> None:
        self.code = 1
        """The exit code; 1 until somebody says otherwise."""
        atexit.register(self._end)

    def _end(self) -> None:
        try:
            if not sys.stdout.closed:
                sys.stdout.flush()
        except OSError as error:
            self.code = self.code or 1
            if not isinstance(error, BrokenPipeError):  # its reader has read enough
                print(f"beamtrawl: the output cannot be written: {error.strerror}", file=sys.stderr)
        finally:
            with contextlib.suppress(OSError, ValueError):  # closed
                sys.stderr.flush()
            os._exit(self.code)
