"""Where the progress of a crawl is shown: lines of text, or JSON. `live` has the terminal."""

import json
from datetime import UTC, datetime
from typing import Protocol, TextIO

from ..terminal.visible import visible
from .events import Event, progress
from .running import Running
from .words import line

SILENT = ("step_started", "busy", "failed")
"""Events without a line of text: others say more when these take long, and the program prints the error at its end."""


class Output(Protocol):
    """Shows the progress of a crawl."""

    interval_s: float  # between two calls of `running`

    def event(self, event: Event) -> None: ...

    def running(self, running: Running) -> None: ...

    def busy(self, what: str, seconds: float) -> None:
        """Work between two steps is under way since so many seconds."""

    def close(self) -> None: ...


class TextOutput:
    """Lines of text, for a stream that is not a terminal."""

    interval_s = 10.0

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def event(self, event: Event) -> None:
        if event.name not in SILENT:
            self._print(event.message)

    def running(self, running: Running) -> None:
        self._print(line(running))

    def busy(self, what: str, seconds: float) -> None:
        self._print(f"{what}, {seconds:.0f} s")

    def close(self) -> None:
        pass

    def _print(self, text: str) -> None:
        print(visible(text), file=self._stream, flush=True)


class JsonOutput:
    """One JSON object a line (docs/progress.md)."""

    def __init__(self, stream: TextIO, interval_s: float) -> None:
        self._stream, self.interval_s = stream, interval_s

    def event(self, event: Event) -> None:
        line = json.dumps(event.to_dict(datetime.now(UTC)), ensure_ascii=False)
        print(visible(line), file=self._stream, flush=True)

    def running(self, running: Running) -> None:
        self.event(progress(running))

    def busy(self, what: str, seconds: float) -> None:
        pass  # an event has named it

    def close(self) -> None:
        pass
