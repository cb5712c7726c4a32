"""What the robots.txt files of a crawl say now about uses of pages that were fetched at any time."""

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..rights.signals import NO, SEARCH, parse
from ..tables.schemas import ROBOTS, Row
from ..tables.table_files import read_table
from ..urls.canonical import origin as origin_of
from . import rules
from .rules import Verdict
from .signal_lines import SignalLine, SignalLines, text_of

_NAMED = ("origin", "fetched_at", "verdict", "signals")


class StoredSignals:
    """The Content-Signal lines of origins that have some."""

    def __init__(self, lines: Mapping[str, Iterable[SignalLine]]) -> None:
        self._lines = {origin: SignalLines(some) for origin, some in lines.items()}
        self._hiding = {
            origin for origin, some in lines.items() if any(parse(line.statement).get(SEARCH) == NO for line in some)
        }

    def __bool__(self) -> bool:
        return bool(self._lines)

    def denies(self, url: str, signal: str) -> bool:
        """Whether a signal about a canonical URL is "no"."""
        lines = self._lines.get(origin_of(url))
        said = lines.about(url).get(signal) if lines else None
        return said is not None and said.value == NO

    def hides(self, urls: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
        """Whether each URL must not be found by searches."""
        if not self._hiding:
            return np.zeros(len(urls), bool)
        found = (origin_of(url) in self._hiding and self.denies(url, SEARCH) for url in urls.to_pylist())
        return np.fromiter(found, bool, len(urls))


NO_SIGNALS = StoredSignals({})


def read_signals(root: str, paths: Iterable[str], token: str | None = None) -> StoredSignals:
    """The lines of the newest file of each origin, of files of table robots. One that cannot be fetched does not count.

    Without the robot's product token, rows of versions that did not store the lines say nothing; with it, their bodies
    are read.
    """
    paths = list(paths)
    if token is None and not _has_any(read_table(root, paths, ROBOTS, ["signals"])):
        return NO_SIGNALS
    parts = [_read(root, path, token) for path in paths]
    if not any(map(_has_any, parts)):
        return NO_SIGNALS
    newest: dict[str, Row] = {}
    for row in (row for part in parts for row in part.to_pylist()):
        if row["origin"] not in newest or row["fetched_at"] > newest[row["origin"]]["fetched_at"]:
            newest[row["origin"]] = row
    return StoredSignals({origin: lines_of(row["signals"]) for origin, row in newest.items() if row["signals"]})


def lines_of(signals: str) -> list[SignalLine]:
    """The lines in column `signals`; the number of a line is that among them."""
    found = (line.split(" ", 1) if line.startswith("/") else ("", line) for line in signals.split("\n"))
    return [SignalLine(path.encode(), text, number) for number, (path, text) in enumerate(found, 1)]


def _has_any(rows: pa.Table) -> bool:
    return rows["signals"].null_count < rows.num_rows


def _read(root: str, path: str, token: str | None) -> pa.Table:
    rows = read_table(root, [path], ROBOTS, [*_NAMED, *(["body"] if token else [])])
    rows = rows.filter(pc.not_equal(rows["verdict"], Verdict.UNREACHABLE.value))
    if token is None:
        return rows
    columns = (rows[name].to_pylist() for name in ("signals", "body", "origin"))
    found = [
        stated
        or (text_of(rules.parse(body, token, origin).signal_lines) if b"signal" in (body or b"").lower() else None)
        for stated, body, origin in zip(*columns, strict=True)
    ]
    return rows.set_column(rows.schema.get_field_index("signals"), "signals", pa.array(found, pa.string()))
