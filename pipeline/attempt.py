"""One attempt at a step: its temporary files, and its commit."""

import contextlib
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol, TypeVar, runtime_checkable

import apache_beam as beam

from ..transforms.directory.crawl_dir import CrawlDir, Manifest, Step, iso
from ..transforms.directory.own_files import remove
from ..transforms.directory.pieces import attempts_prefix, find_leftovers
from ..transforms.files import filesystem
from ..transforms.indexing.link_folders import MERGED, links_folder
from ..transforms.indexing.segment_files import INDEX_FILE
from ..transforms.memory.bounds import CompactLoad, FetchLoad, Fit, Parts, RankLoad, UpdateLoad, fit
from ..transforms.memory.limits import Memory
from ..transforms.tables.table_files import TableFile, parse_report
from .control import StopSignal
from .work import Work

L = TypeVar("L", FetchLoad, UpdateLoad, RankLoad, CompactLoad)

_ONCE = ("fetch", "update")
"""Steps that a round has once: their manifests have names that only one process can take."""

_OF_INDEX = {"index", "index_links", INDEX_FILE}


class Engine(Protocol):
    """Runs pipelines."""

    workers: int

    def run(self, build: Callable[[beam.Pipeline], None], seconds: float) -> None:
        """Build and run a pipeline to its end; raises if it fails. `seconds` estimates its CPU time."""


@runtime_checkable
class Stoppable(Protocol):
    """An engine that can give up a pipeline."""

    def until(self, is_stopped: Callable[[], bool]) -> Engine:
        """The same engine; its pipelines raise Stopped within seconds of `is_stopped`, but for a function that runs in
        this process.
        """


def until(engine: Engine, stop: StopSignal) -> Engine:
    """The engine for a step of a crawl that is given up when `stop` is set, if it can be: not for what was fetched."""
    return engine.until(stop.is_set) if isinstance(engine, Stoppable) else engine


class Peak(Protocol):
    """Watches the memory and CPU time of all processes inside `with`."""

    bytes: int | None  # the most that was seen; None if it is not known
    cpu_ms: int | None  # in all, once it has ended; None if it is not known

    def __enter__(self) -> "Peak": ...

    def __exit__(self, *_: object) -> None: ...


@runtime_checkable
class OneMachine(Protocol):
    """An engine whose processes are all on this machine."""

    def workers_for(self, seconds: float) -> int:
        """The number of workers of a step with so much CPU time."""

    def limited(self, workers: int) -> Engine:
        """The same engine with at most so many workers."""

    def memory(self) -> Memory:
        """What all processes have and may have."""

    def peak(self, used: int | None) -> Peak:
        """What watches the memory of a step, before which all processes have so much."""


def measured(engine: Engine, load: L) -> tuple[L, Memory]:
    """Return a load with the memory that all processes have now, and what they have and may have.

    On other machines the load as it is, and a memory that is not known.
    """
    now = engine.memory() if isinstance(engine, OneMachine) else Memory(None, None)
    return load if now.used is None else load._replace(used=now.used), now


class Fitted:
    """An engine for a step, in parts that fit into memory; the manifest has its `memory` and `cpu` afterwards.

    On other machines, the step runs as wanted.
    """

    def __init__(
        self, engine: Engine, work: Work, parts: Parts, fit: Fit | None = None, peak: Peak | None = None
    ) -> None:
        self.engine, self.parts = engine, parts
        self._work, self._fit, self._peak = work, fit, peak

    @classmethod
    def to_memory(
        cls,
        engine: Engine,
        work: Work,
        load: L,
        bound: Callable[[L, Parts], int],
        step: str,
        warn: Callable[[str], None],
    ) -> "Fitted":
        """Give a step as many workers as its work divides among, and as fit into the memory that processes may have.

        `warn` gets what is smaller for lack of memory.
        """
        if not isinstance(engine, OneMachine):
            return cls(engine, work, Parts(engine.workers))
        load, now = measured(engine, load)
        wanted = Parts(min(engine.workers_for(work.seconds), work.pieces))
        found = fit(partial(bound, load), wanted, now.most)
        if line := found.line(step):
            warn(line)
        is_less = found.parts.workers < engine.workers_for(work.seconds)
        limited = engine.limited(found.parts.workers) if is_less else engine
        return cls(limited, work, found.parts, found, engine.peak(now.used))

    def run(self, build: Callable[[beam.Pipeline], None]) -> None:
        with self.watching():
            self.engine.run(build, self._work.seconds)

    def watching(self) -> contextlib.AbstractContextManager[object]:
        """Watch the memory inside `with`."""
        return self._peak or contextlib.nullcontext()

    @property
    def memory(self) -> dict[str, int] | None:
        """The `projected` and the `peak` memory; None on other machines."""
        if self._fit is None or self._peak is None:
            return None
        return {"projected": self._fit.bound} | ({"peak": self._peak.bytes} if self._peak.bytes else {})

    @property
    def cpu(self) -> dict[str, int] | None:
        """The `expected` and the `taken` CPU time in milliseconds; None on other machines."""
        if self._peak is None or self._peak.cpu_ms is None:
            return None
        return {"expected": round(self._work.expected * 1000), "taken": self._peak.cpu_ms}


class Attempt:
    """One attempt at a step: unique names, and temporary files.

    `is_another`: an earlier attempt has left files without a commit. `prefix` begins its name, and those of all
    attempts that it continues; by default, all attempts at the step.
    """

    def __init__(self, crawl: CrawlDir, step: Step, prefix: str, earlier: Collection[str], now: datetime) -> None:
        """`earlier` are the names of the files of earlier attempts in attempts/."""
        self._crawl = crawl
        self.step = step
        self._prefix = prefix
        self.name = f"{prefix}-{uuid.uuid4().hex[:8]}"
        self.is_another = bool(earlier)
        self._earlier = {trace[: len(self.name)] for trace in earlier}
        self.report = crawl.path(f"attempts/{self.name}.json")
        self.progress = crawl.path(f"attempts/{self.name}-progress")
        self.stop_file = crawl.path(f"attempts/{self.name}.stop")
        self.scratch = crawl.path(f"attempts/{self.name}-scratch")
        self.started_at = now

    @classmethod
    def after_earlier(cls, crawl: CrawlDir, step: Step, prefix: str = "") -> "Attempt":
        """List the files that earlier attempts have left, and begin one."""
        prefix = prefix or attempts_prefix(step)
        return cls(crawl, step, prefix, crawl.names("attempts", f"{prefix}*"), datetime.now(UTC))

    def stop_earlier(self) -> None:
        """Stop the workers of earlier attempts: on a cluster, a job may outlive its driver."""
        for name in self._earlier:
            filesystem.write_bytes(self._crawl.path(f"attempts/{name}.stop"), b"", durable=False)

    def files(self) -> list[TableFile]:
        """Return the files that the completed pipeline has written; CrawlDirError if another process has taken over."""
        try:
            return parse_report(self._crawl.read_text(f"attempts/{self.name}.json"))
        except FileNotFoundError:
            self._crawl.require_claim()  # whoever took over has removed it
            raise

    def pieces(self) -> list[TableFile]:
        """Return the files of the durable pieces that the pipeline has written."""
        return find_leftovers(self._crawl, self.name).files

    def commit(
        self,
        consumed: Sequence[str] = (),
        replaced: Sequence[str] = (),
        files: Sequence[TableFile] | None = None,
        merged: Sequence[TableFile] = (),
        counters: Mapping[str, int] | None = None,
        settings_digest: str = "",
        settings: dict[str, Any] | None = None,
        fitted: Fitted | None = None,
    ) -> Manifest:
        """Commit the written files in one atomic write: `files` if given, else those of the report.

        They replace the inputs: the `consumed` files of the frontier, the `replaced` segments, the `merged` files.
        Written files that are consumed too, such as the rows that left a file of which none waits, are removed instead.
        `counters` are added to those of the files. `settings_digest` is that of a fetch or update step. `settings` are
        all those of a fetch step, the index scope of a step that indexes documents (`IndexScope.record`). The manifest
        has the memory and the CPU time of `fitted`.
        """
        written = self.files() if files is None else files
        spent = {file.path for file in written}.intersection(consumed)
        files = [file for file in written if file.path not in spent]
        if merged:  # nothing new: its rows were counted by the steps that wrote them
            counters = {"merged_files": len(merged), **(counters or {})}
        else:
            total = Counter(counters or {})
            for file in (file for file in files if file.table != INDEX_FILE):
                total.update(file.counts)
                total[f"{file.table}_rows"] += file.rows
            counters = dict(total)
        index = tuple(file.path for file in files if file.table == "index")
        links = {file.path for file in files if file.table == "index_links"}
        manifest = Manifest(
            step=self.step.kind,
            round=self.step.round,
            settings_digest=settings_digest,
            files=tuple(file for file in files if file.table not in _OF_INDEX),
            counters=counters,
            consumed=tuple(path for path in consumed if path not in spent),
            started_at=iso(self.started_at),
            ended_at=iso(datetime.now(UTC)),
            index=index,
            index_files=tuple(file for file in files if file.table == INDEX_FILE),
            index_links={s: links_folder(s, MERGED) for s in index if links_folder(s, MERGED) in links},
            index_replaced=tuple(replaced),
            replaced=tuple(file.path for file in merged),
            settings=settings,
            memory=fitted.memory if fitted else None,
            cpu=fitted.cpu if fitted else None,
        )
        self._crawl.commit(manifest, "" if self.step.kind in _ONCE else self.name[len(self._prefix) :])
        self.clear(spent)
        return manifest

    def clear(self, spent: Collection[str] = ()) -> None:
        """Remove the temporary files of this attempt and of those that had begun before it, not of a successor.

        `spent` are other files that it has written, and that no step names.
        """
        names = self._crawl.names("attempts", f"{self._prefix}*")
        ended = {self.name, *self._earlier}
        with contextlib.suppress(FileNotFoundError):  # a cleaning that was paused, or a worker, removed it first
            remove(self._crawl, (*spent, *(f"attempts/{name}" for name in names if name[: len(self.name)] in ended)))
