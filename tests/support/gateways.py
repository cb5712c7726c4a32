"""`beamtrawl serve` in a process of its own."""

import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def serving(directory: object, *flags: str) -> Iterator[str]:
    """Where it answers, as ADDRESS:PORT."""
    command = [sys.executable, "-m", "beamtrawl", "serve", str(directory), "--port", "0", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield re.findall(r"http://([\d.]+:\d+)/", server.stdout.readline())[0]
        finally:
            server.terminate()
