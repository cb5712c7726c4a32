"""Watch what the pages of a round yield: which have nothing new, and which templates are traps for that."""

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import apache_beam as beam
import pyarrow as pa

from transforms.contents import DUPLICATES
from transforms.history import Batch
from transforms.keys import shard
from transforms.novelty import Specimens, pack, unpack
from transforms.settings import Traps
from transforms.tables import SPECIMENS, TRAPS, TableFile, TableWriter, from_ipc, open_parquet, read_table, to_ipc
from transforms.templates import family
from transforms.trap_holds import Held
from transforms.traps import Allows, Name, Row, State, allows, judge, kind_of, look, names_of, new_row, newest
from transforms.yields import STALE, YIELDS


class Watched(NamedTuple):
    """What the pages of a host came to in a round."""

    stale: list[bytes]  # keys of pages without news
    traps: list[Row]  # of table traps: those of this round
    specimens: list[Row]  # of table specimens
    held: Held | None  # if there are traps


def watch(
    host: str, pages: Iterable[Row], duplicates: Container[bytes], traps: Iterable[Row], specimens: Collection[Row],
    is_allowed: Allows, round_: int,
) -> Watched:  # fmt: skip
    """Look at the pages (YIELDS) of a host that were visited for the first time, in the order of their visits.

    `traps` and `specimens` are the host's rows before this round. A copy is never news.
    """
    known = newest(traps)
    families = {row["template"]: Specimens(row["words"]) for row in sorted(specimens, key=lambda row: row["round"])}
    forms = {form for row in specimens for form in unpack(row["forms"])}
    stale: list[bytes] = []
    visited, fresh = Counter[Name](), Counter[Name]()
    samples, added = dict[Name, list[str]](), dict[str, list[int]]()
    for page in sorted(pages, key=_order):
        looks = look(page["url"])
        names = names_of(looks.template, kind_of(looks, bool(page["barren"]), forms), known)
        form, group = looks.form, family(looks.template)
        new_forms = added.setdefault(group, [])
        if form is not None and form not in forms:
            forms.add(form)
            new_forms.append(form)
        others = families.setdefault(group, Specimens())
        is_fresh = page["url_key"] not in duplicates and others.is_news(page["words"])
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
        is_allowed = allows(self._allow)
        duplicates = frozenset(from_ipc(sides["duplicates"], DUPLICATES)["url_key"].to_pylist())
        pages = _by_host(from_ipc(sides["yields"], YIELDS).to_pylist())
        traps, specimens = _by_host(sides["traps"]), _by_host(sides["specimens"])
        stale, rows = list[bytes](), dict[str, list[Row]](traps=[], specimens=[])
        for host in sorted(pages.keys() | traps.keys()):
            sides_ = (pages.get(host, ()), duplicates, traps.get(host, ()), specimens.get(host, ()))
            watched = watch(host, *sides_, is_allowed, self._round)
            stale += watched.stale
            rows["traps"] += watched.traps
            rows["specimens"] += watched.specimens
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
    """Tell the pages of a round that hold nothing new, and judge templates by it; writes traps and specimens.

    Takes {"yields": YIELDS, "duplicates": DUPLICATES, "traps": rows, "specimens": rows} by shard of the host.
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


def specimens_rows(path: str, root: str, shards: int, hosts: Mapping[str, None]) -> Iterator[tuple[int, Row]]:
    """The rows of a specimens file that speak of some hosts; row groups without them are passed over."""
    with open_parquet(root, path) as file:
        for group in range(file.num_row_groups):
            if not hosts.keys().isdisjoint(file.read_row_group(group, ["host"])["host"].to_pylist()):
                rows = file.read_row_group(group, SPECIMENS.names).to_pylist()
                yield from ((shard(row["host"], shards), row) for row in rows if row["host"] in hosts)


def hosts_of(batch: Batch) -> Iterator[str]:
    """The hosts of a batch of YIELDS."""
    yield from set(from_ipc([batch[1]], YIELDS)["host"].to_pylist())
