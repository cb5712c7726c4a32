"""Watch what the pages of a round yield: which have nothing new, and which templates are traps for that."""

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import apache_beam as beam
import pyarrow as pa

from ..duplicates.exact import DUPLICATES
from ..settings import Traps
from ..storage.batches import Batch, from_ipc, to_ipc
from ..storage.bloom import shard
from ..storage.exchange import STALE, YIELDS
from ..storage.schemas import TRAP_SAMPLES, TRAPS
from ..storage.table_files import TableFile, TableWriter, open_parquet, read_table
from .holds import Held
from .judge import (
    Allows,
    Name,
    Row,
    State,
    compile_allow_list,
    judge,
    kind_of,
    look,
    names_of,
    new_row,
    newest_by_template,
    pages_seen,
)
from .novelty import TrapSamples, pack, unpack
from .templates import family

_VARIED, _LARGE = 5, 1_000
"""Different pages of a host, or pages at all, before some can be said to have no news: where all pages are alike, or
have hardly any words, that is how the host writes."""


class Watched(NamedTuple):
    """What the pages of a host came to in a round."""

    stale: list[bytes]  # keys of pages without news
    traps: list[Row]  # of table traps: those of this round
    trap_samples: list[Row]  # of table trap_samples
    held: Held | None  # if there are traps


def watch(
    host: str, pages: Iterable[Row], duplicates: Container[bytes], traps: Iterable[Row], trap_samples: Collection[Row],
    is_allowed: Allows, round_: int,
) -> Watched:  # fmt: skip
    """Look at the pages (YIELDS) of a host that were visited for the first time, in the order of their visits.

    `traps` and `trap_samples` are the host's rows before this round. A copy is never news.
    """
    known = newest_by_template(traps)
    families = {
        row["template"]: TrapSamples(row["words"]) for row in sorted(trap_samples, key=lambda row: row["round"])
    }
    forms = {form for row in trap_samples for form in unpack(row["forms"])}
    telling = sum(family_.telling for family_ in families.values())
    seen = pages_seen(known.values())
    stale: list[bytes] = []
    visited, fresh = Counter[Name](), Counter[Name]()
    samples, added = dict[Name, list[str]](), dict[str, list[int]]()
    for page in sorted(pages, key=_order):
        looks = look(page["url"])
        names = names_of(looks.template, kind_of(looks, bool(page["links_without_news"]), forms), known)
        form, group = looks.form, family(looks.template)
        new_forms = added.setdefault(group, [])
        if form is not None and form not in forms:
            forms.add(form)
            new_forms.append(form)
        others = families.setdefault(group, TrapSamples())
        telling -= others.telling
        is_news = others.is_news(page["words"]) or (telling + others.telling < _VARIED and seen < _LARGE)
        telling += others.telling
        seen += 1
        is_fresh = page["url_key"] not in duplicates and is_news
        if is_allowed(page["url"]):
            continue
        if not is_fresh:
            stale.append(page["url_key"])
        visited.update(names)
        fresh.update(names if is_fresh else ())
        for name in () if is_fresh else names:
            samples.setdefault(name, []).append(page["url"])
    changed = {
        name: judge(known.get(name) or new_row(host, name), count, fresh[name], samples.get(name, ()), round_)
        for name, count in sorted(visited.items())
    }
    rows = [
        {"host": host, "template": group, "round": round_, "words": families[group].kept(), "forms": pack(new_forms)}
        for group, new_forms in sorted(added.items())
    ]
    known |= changed
    has_traps = any(row["state"] == State.TRAPPED for row in known.values())
    held = Held(host, list(known.values()), sorted(forms)) if has_traps else None
    return Watched(stale, list(changed.values()), rows, held)


def _order(page: Row) -> tuple[int, float, str]:
    """That of visits, as `frontier.order`."""
    return (page["depth"], -page["priority"], page["url"])


class _WatchFn(beam.DoFn):
    """Takes a shard: what all pages of some hosts yielded, and what is known of these hosts."""

    def __init__(self, root: str, round_: int, settings: Traps) -> None:
        self._root, self._round, self._allow = root, round_, settings.allow

    def process(self, shard_: tuple[int, dict[str, Iterable[Any]]]) -> Iterator[Any]:
        number, sides = shard_
        is_allowed = compile_allow_list(self._allow)
        duplicates = frozenset(from_ipc(sides["duplicates"], DUPLICATES)["url_key"].to_pylist())
        pages = _by_host(from_ipc(sides["yields"], YIELDS).to_pylist())
        traps, trap_samples = _by_host(sides["traps"]), _by_host(sides["trap_samples"])
        stale, rows = list[bytes](), dict[str, list[Row]](traps=[], trap_samples=[])
        for host in sorted(pages.keys() | traps.keys()):
            sides_ = (pages.get(host, ()), duplicates, traps.get(host, ()), trap_samples.get(host, ()))
            watched = watch(host, *sides_, is_allowed, self._round)
            stale += watched.stale
            rows["traps"] += watched.traps
            rows["trap_samples"] += watched.trap_samples
            if watched.held:
                yield beam.pvalue.TaggedOutput("held", tuple(watched.held))
        for table, part in rows.items():
            if file := self._write(table, part):
                yield beam.pvalue.TaggedOutput("files", file)
        yield number, to_ipc(pa.table({"url_key": stale}, schema=STALE))

    def _write(self, table: str, rows: list[Row]) -> TableFile | None:
        writer = TableWriter(self._root, table, self._round)
        writer.write_rows(rows)
        return writer.close()


def _by_host(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["host"], []).append(row)
    return found


class Yielded(NamedTuple):
    """What `WatchYields` gives."""

    shard_to_stale: "beam.PCollection[Batch]"  # STALE
    held: "beam.PCollection[tuple]"  # Held, as tuples, of the hosts that have traps
    files: "beam.PCollection[TableFile]"


class WatchYields(beam.PTransform):
    """Tell the pages of a round that hold nothing new, and judge templates by it; writes traps and trap_samples.

    Takes {"yields": YIELDS, "duplicates": DUPLICATES, "traps": rows, "trap_samples": rows} by shard of the host.
    """

    def __init__(self, root: str, round_: int, settings: Traps) -> None:
        super().__init__()
        self._fn = _WatchFn(root, round_, settings)

    def expand(self, sides: "dict[str, beam.PCollection]") -> "Yielded":
        watched = (
            sides
            | "WithYields" >> beam.CoGroupByKey()
            | "Watch" >> beam.ParDo(self._fn).with_outputs("held", "files", main="stale")
        )
        return Yielded(watched.stale, watched.held, watched.files)


def traps_rows(path: str, root: str, shards: int) -> Iterator[tuple[int, Row]]:
    """The rows of a traps file, by shard of their host."""
    for row in read_table(root, [path], TRAPS).to_pylist():
        yield shard(row["host"], shards), row


def trap_samples_rows(path: str, root: str, shards: int, hosts: Mapping[str, None]) -> Iterator[tuple[int, Row]]:
    """The rows of a trap_samples file that speak of some hosts; row groups without them are passed over."""
    with open_parquet(root, path) as file:
        for group in range(file.num_row_groups):
            if not hosts.keys().isdisjoint(file.read_row_group(group, ["host"])["host"].to_pylist()):
                rows = file.read_row_group(group, TRAP_SAMPLES.names).to_pylist()
                yield from ((shard(row["host"], shards), row) for row in rows if row["host"] in hosts)


def hosts_of(batch: Batch) -> Iterator[str]:
    """The hosts of a batch of YIELDS."""
    yield from set(from_ipc([batch[1]], YIELDS)["host"].to_pylist())
