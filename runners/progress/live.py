"""The progress of a crawl on a terminal: some lines that are redrawn, below the lines on what has happened."""

import os
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ..terminal.visible import VisibleStream, visible
from .events import Event
from .outputs import SILENT
from .running import Running
from .words import screen


class LiveOutput:
    """Draws on a terminal with rich; the last drawing disappears when its step ends."""

    interval_s = 0.5

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream.for_drawing() if isinstance(stream, VisibleStream) else stream
        self._console = Console(file=self._stream, highlight=False, soft_wrap=True)
        self._live: Live | None = None

    def event(self, event: Event) -> None:
        self.close()
        if event.name not in SILENT:
            self._console.print(Text(visible(event.message), style="yellow" if event.level == "WARNING" else ""))

    def running(self, running: Running) -> None:
        head, lines = screen(running)
        self._draw(head, lines, running.fraction)

    def busy(self, what: str, seconds: float) -> None:
        self._draw(f"{what}, {seconds:.0f} s", [], None)

    def close(self) -> None:
        if self._live:
            self._live.stop()
            self._live = None

    def _draw(self, head: str, lines: list[str], fraction: float | None) -> None:
        # rich measures the terminal of the standard streams, which may be another one.
        columns, height = os.get_terminal_size(self._stream.fileno())
        self._console.width, self._console.height = columns or 80, height or 24
        rows: list[Text | Table] = [_row(head, "bold"), *(_row(line, "") for line in lines)]
        if fraction is not None and lines:
            beside = Table.grid(padding=(0, 1))
            beside.add_row(ProgressBar(total=1.0, completed=fraction, width=self._console.width // 4), rows[1])
            rows[1] = beside
        if self._live is None:
            self._live = Live(
                console=self._console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
            )
            self._live.start()
        self._live.update(Group(*rows), refresh=True)


def _row(text: str, style: str) -> Text:
    return Text(visible(text), style=style, no_wrap=True, overflow="ellipsis")
