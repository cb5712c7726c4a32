"""`beamtrawl serve` in a process of its own."""

import contextlib
import re
import subprocess
from collections.abc import Iterator

from tests.support.command_line import PROGRAM


@contextlib.contextmanager
def serving(directory: object, *flags: str) -> Iterator[str]:
    """Where it answers, as ADDRESS:PORT."""
    command = [*PROGRAM, "serve", str(directory), "--port", "0", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield re.findall(r"http://([\d.]+:\d+)/", server.stdout.readline())[0]
        finally:
            server.terminate()
