"""The crawl directory: manifests of committed steps, and the files and state derived from them.

A step is committed when its manifest exists, which is created by one atomic move. Readers only read files that
manifests name, so files of failed attempts are invisible.
"""

import codecs
import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from ..files import filesystem
from ..files.store import Space, Store
from ..outcomes import CrawlDirError, MisnamedError
from ..tables.table_files import TableFile
from .checkpoints import is_checkpoint, new_name, parse_checkpoint, render_checkpoint
from .claims import Claim, read_owner
from .manifests import (
    REDO,
    RESTORE,
    Manifest,
    is_last_step,
    iso,
    missing_steps,
    parse_manifest,
    program,
    render_manifest,
)

_AT_ONCE = 8  # files that are made durable


@dataclasses.dataclass(frozen=True)
class Step:
    """The next step of a crawl: fetch a round, or update from a fetched one."""

    kind: str
    round: int

    @property
    def frontier_round(self) -> int:
        """The round that visits a URL which is put into the frontier now."""
        return self.round + (self.kind == "update")


def next_step(manifests: Iterable[Manifest]) -> Step:
    """The next step of the crawl, derived from the committed steps alone."""
    last = {"fetch": 0, "update": 0}
    for manifest in manifests:
        if manifest.step in last:
            last[manifest.step] = max(last[manifest.step], manifest.round)
    return Step("update", last["fetch"]) if last["fetch"] > last["update"] else Step("fetch", last["update"] + 1)


def last_updated(manifests: Iterable[Manifest]) -> int:
    """The last round whose update step is committed."""
    return max((m.round for m in manifests if m.step == "update"), default=0)


def files_of(manifests: Iterable[Manifest], table: str) -> list[TableFile]:
    """The files of a table, oldest round first."""
    return [file for m in manifests for file in m.files if file.table == table]


def without_replaced(manifests: Sequence[Manifest]) -> list[Manifest]:
    """The manifests without the files that one of them replaces."""
    replaced = {path for m in manifests for path in m.replaced}
    if not replaced:
        return list(manifests)
    kept = ((m, tuple(file for file in m.files if file.path not in replaced)) for m in manifests)
    return [m if len(files) == len(m.files) else dataclasses.replace(m, files=files) for m, files in kept]


def paths_of(manifests: Iterable[Manifest], table: str) -> list[str]:
    """The paths of the files of a table, oldest round first."""
    return [file.path for file in files_of(manifests, table)]


def unconsumed(manifests: Iterable[Manifest], table: str) -> list[TableFile]:
    """The files of a table that no committed step has consumed."""
    manifests = list(manifests)
    consumed = {path for m in manifests for path in m.consumed}
    return [file for file in files_of(manifests, table) if file.path not in consumed]


def frontier_files(manifests: Iterable[Manifest]) -> list[TableFile]:
    """The files of the frontier that no committed update has consumed."""
    return unconsumed(manifests, "frontier")


def current_files(manifests: Iterable[Manifest], table: str) -> list[TableFile]:
    """The files that a reader of a table opens: of the frontier those with waiting URLs, of other tables all."""
    return frontier_files(manifests) if table == "frontier" else files_of(manifests, table)


class CrawlDir:
    """A directory on any of Beam's file systems. The constructor reads nothing."""

    def __init__(self, root: str, claim: Claim | None = None) -> None:
        """`claim` must hold whenever a step is committed."""
        if not root:
            raise MisnamedError("the crawl directory has no name; give a path such as ./crawl")
        root = root.rstrip("/") or "/"
        self.root = filesystem.store_of(root).absolute(root)
        self.claim = claim
        self._read: dict[str, dict[str, Manifest]] = {}  # by the name of the file
        self._current: dict[str, tuple[Manifest, Manifest]] = {}  # as it was written, and without replaced files
        self._names: list[str] | None = None  # of the manifests' files, once listed

    def claimed(self, claim: Claim) -> "CrawlDir":
        """The same directory, for commits under a claim."""
        return CrawlDir(self.root, claim)

    @property
    def _store(self) -> Store:
        return filesystem.store_of(self.root)

    def space(self) -> Space | None:
        """The space of its disk; None on a store."""
        return self._store.space(self.root)

    def path(self, relative: str) -> str:
        return filesystem.join(self.root, relative)

    def exists(self, relative: str) -> bool:
        return filesystem.exists(self.path(relative))

    def read_text(self, relative: str) -> str:
        """Read a file in UTF-8, or in UTF-16 with a byte order mark; MisnamedError names a byte that is neither.

        MisnamedError, too, if it is a folder.
        """
        try:
            content = self.read_bytes(relative)
        except IsADirectoryError as error:
            raise MisnamedError(f"{self.path(relative)} is a folder, and must be a file; rename it") from error
        is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        try:
            return content.decode("utf-16" if is_utf16 else "utf-8-sig")
        except UnicodeDecodeError as error:
            number = len(content[: error.start].splitlines()) or 1
            where, byte = f"{relative}, line {number}", content[error.start]
            name = "UTF-16" if is_utf16 else "UTF-8"
            raise MisnamedError(f"{where}: the byte 0x{byte:02x} is not {name}; save it as UTF-8") from error

    def read_bytes(self, relative: str) -> bytes:
        return filesystem.read_bytes(self.path(relative))

    def write_text(self, relative: str, text: str) -> None:
        """Writes a file atomically and durably: a reader sees the old text or the new one."""
        self._store.write_whole(self.path(relative), text.encode())

    def write_new(self, relative: str, text: str, mode: int = 0o666) -> bool:
        """`write_text` unless the file exists; on local disks and object stores one of concurrent writers succeeds."""
        return self._store.write_new(self.path(relative), text.encode(), mode)

    def change_text(self, relative: str, change: Callable[[str], str]) -> None:
        """Replaces the text of a file, "" if there is none, by a function of it; no concurrent change is lost.

        `change` may be called again, with the text that another process has written meanwhile.
        """
        path = self.path(relative)
        with filesystem.guard(self.root):
            while True:
                try:
                    data, tag = self._store.read(path)
                except FileNotFoundError:
                    data, tag = b"", None
                new = change(data.decode()).encode()
                if new == data or self._store.replace(path, new, tag) is not None:
                    return

    def sync(self, files: Iterable[TableFile]) -> None:
        """Makes closed files and their names durable, many at once: a disk takes about as long for one as for all."""
        paths = sorted(self.path(file.path) for file in files)
        folders = sorted({filesystem.split(path)[0] for path in paths})
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            synced = threads.map(filesystem.sync_file, paths), threads.map(filesystem.sync_folder, folders)
            for _ in itertools.chain(*synced):
                """Raises the error of one, if there is any."""

    def names(self, folder: str, pattern: str = "*") -> list[str]:
        """The names of the files in a folder, sorted."""
        return [path.rpartition("/")[2] for path in self.paths(folder, pattern)]

    def paths(self, folder: str, pattern: str = "**") -> list[str]:
        """The files below a folder that match a Beam pattern, as sorted paths relative to the crawl directory."""
        found = filesystem.match(self.path(folder), pattern)
        return [path[len(self.root) :].replace("\\", "/").lstrip("/") for path in found]

    def manifests(self) -> list[Manifest]:
        """All committed steps, in the order of their rounds: seeds, revisits, fetch, update; then rank and compact.

        Their `files` are without those that a later step has replaced.
        """
        order = {"seeds": 0, "revisits": 1, "fetch": 2, "update": 3}
        written, before = self.committed(), self._current
        known = (before[name][1] if name in before and before[name][0] is m else m for name, m in written.items())
        current = without_replaced(list(known))
        self._current = {name: (m, now) for (name, m), now in zip(written.items(), current, strict=True)}
        return sorted(current, key=lambda m: (m.round, order.get(m.step, 5), m.ended_at))

    def committed(self) -> dict[str, Manifest]:
        """The manifests as they were written, by file name. Files that were read before are not read again."""
        while True:
            names = self.manifest_names()
            newest = max(filter(is_checkpoint, names), default=None)  # it holds what earlier ones hold
            wanted = (name for name in names if name == newest or not is_checkpoint(name))
            try:
                self._read = self._manifests_of(list(wanted))
                break
            except OSError:
                self.forget_names()
                if names == self.manifest_names():
                    raise
                # Another process has just folded some of them.
        folded: dict[str, Manifest] = {}
        for name in sorted(self._read, key=is_checkpoint):
            folded |= self._read[name]
        return folded

    def manifest_names(self) -> list[str]:
        """The names of the files of the manifests, sorted; under a claim, as they were listed last.

        The owner lists them when it commits, and before each round (`forget_names`): others add seeds alone.
        """
        if self._names is None or self.claim is None:
            self._names = self.names("manifests", "*.json")
        return self._names

    def forget_names(self) -> None:
        """The next call of `manifest_names` lists them anew."""
        self._names = None

    def _manifests_of(self, names: Sequence[str]) -> dict[str, dict[str, Manifest]]:
        new = [name for name in names if not self._read.get(name)]
        texts = filesystem.read_all(self.path(f"manifests/{name}") for name in new)
        steps = [name for name in names if not is_checkpoint(name)]
        ways_out = [REDO if is_last_step(name, steps) else RESTORE for name in new]
        read = self._read | dict(zip(new, map(_manifests_in, new, texts, ways_out), strict=True))
        return {name: read[name] for name in names}

    def write_checkpoint(self, manifests: Mapping[str, Manifest]) -> None:
        """Writes a checkpoint of all committed steps, by file name; CrawlDirError if the claim has ended."""
        name = new_name(len(manifests))
        with filesystem.guard(self.root):
            self.require_claim()
            self.write_text(f"manifests/{name}", render_checkpoint(manifests))
        self._read[name] = dict(manifests)

    def missing_manifests(self) -> list[str]:
        """What is lost of the manifests, a line each: the steps that others of this crawl rest on."""
        return [
            f"manifests/{name} is missing, and with it all that this step wrote; restore it from a copy"
            for name in missing_steps(self.committed())
        ]

    def require_manifests(self) -> list[Manifest]:
        """The committed steps; CrawlDirError if this is not a crawl directory."""
        if not (manifests := self.manifests()):
            start = f"start one with: beamtrawl crawl {self.root} --seed URL"
            reason = "it is no directory" if self._store.is_no_folder(self.root) else start
            raise CrawlDirError(f"{self.root} holds no crawl; {reason}")
        return manifests

    def commit(self, manifest: Manifest, suffix: str = "") -> None:
        """Commits a step, durably with the files that it names.

        A step without a digest of settings gets that of the step before it, whose settings hold for the crawl.
        CrawlDirError if another process has already committed it, or has ended the claim of this directory.
        """
        name = f"manifests/{manifest.name}{suffix}.json"
        self.sync((*manifest.files, *manifest.index_files))
        self.forget_names()  # a process that was paused may have lost its claim meanwhile
        committed = self.committed()
        digest = manifest.settings_digest or _last_digest(committed.values())
        text = render_manifest(dataclasses.replace(manifest, program=program(), settings_digest=digest))
        is_folded = f"{manifest.name}{suffix}.json" in committed
        with filesystem.naming(self.path(name)), filesystem.guard(self.root):
            self.require_claim()
            is_new = not is_folded and self.write_new(name, text)
        if not is_new:
            raise CrawlDirError(f"{name} exists already: another program has committed this step; start again to go on")
        self._names = sorted([*self.manifest_names(), name.rpartition("/")[2]]) if self.claim else None

    def require_claim(self) -> None:
        """CrawlDirError if this directory is claimed, and another process has ended the claim."""
        if self.claim is None:
            return
        owner = read_owner(self.root, self.claim.path)
        if owner is None and self._store.has_local_paths and not filesystem.exists(self.root):
            raise CrawlDirError(
                f"{self.root} was moved or removed during this command; run it again with its new place"
            )
        if owner is None or owner.get("token") != self.claim.token:
            who = f"process {owner['pid']} on {owner.get('host')}" if owner and "pid" in owner else "another process"
            raise CrawlDirError(
                f"{self.root} was taken over by {who} while this one was paused; what this one had not committed is"
                " left out; run the command again"
            )


def _last_digest(manifests: Iterable[Manifest]) -> str:
    last = max((m for m in manifests if m.settings_digest), key=lambda m: m.ended_at, default=None)
    return last.settings_digest if last else ""


def _manifests_in(name: str, data: bytes, way_out: str) -> dict[str, Manifest]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise CrawlDirError(f"manifests/{name} cannot be used: {error}; {way_out}") from error
    return parse_checkpoint(name, text) if is_checkpoint(name) else {name: parse_manifest(name, text, way_out)}


def visible_files(manifests: Iterable[Manifest]) -> Iterator[str]:
    """Every file and index folder that a committed step wrote and no later step dropped."""
    manifests = list(manifests)
    dropped = {folder for m in manifests for folder in m.index_dropped}
    for manifest in manifests:
        yield from (file.path for file in manifest.files)
        yield from (f for f in (*manifest.index, *manifest.index_links.values()) if f not in dropped)
