"""Reads from a crawl what its last round of URLs chosen at random has found."""

from collections import defaultdict
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ...transforms.directory.crawl_dir import CrawlDir, Manifest, files_of
from ...transforms.outcomes import REQUESTED, SAMPLED_OF
from ...transforms.tables.schemas import TABLES
from ...transforms.tables.table_files import read_table
from .growth import Sample, Unit

_NEVER_ASKED = ("alias", "trapped")


def sample_of(crawl: CrawlDir) -> Sample | None:
    """Return the last sample of a crawl whose pages have been parsed; None if there is none."""
    manifests = crawl.require_manifests()
    parsed = {m.round for m in manifests if m.step == "update"}
    rounds = [m for m in manifests if m.step == "fetch" and SAMPLED_OF in m.counters and m.round in parsed]
    if not rounds:
        return None
    last = rounds[-1]
    visits = _read(crawl, manifests, "visits", ["url_key", "round", "outcome", "body_bytes"])
    visits = visits.filter(pc.is_in(visits["outcome"], pa.array(sorted(REQUESTED), pa.string())))
    sampled = visits.filter(pc.equal(visits["round"], last.round))
    if not sampled.num_rows:
        return None
    before = pc.sum(pc.less(visits["round"], last.round)).as_py()
    found = _found(crawl, manifests, last.round)
    rows = zip(sampled["url_key"].to_pylist(), sampled["body_bytes"].to_pylist(), strict=True)
    units = [Unit(size or 0, found.get(key, ())) for key, size in rows]
    return Sample(before, max(last.counters[SAMPLED_OF], len(units)), units)


def _found(crawl: CrawlDir, manifests: Sequence[Manifest], round_: int) -> dict[bytes, list[bytes]]:
    """Return the keys of the URLs that a round discovered, by the key of each page with a link to them."""
    urls = _read(crawl, manifests, "urls", ["url_key", "discovered_round", "state", "round"])
    urls = urls.filter(pc.equal(urls["discovered_round"], round_))
    dropped = urls.filter(pc.is_in(urls["state"], pa.array(_NEVER_ASKED)))["url_key"]
    new = urls.filter(pc.invert(pc.is_in(urls["url_key"], dropped)))["url_key"].combine_chunks()
    links = _read(crawl, manifests, "links", ["source_key", "target_key", "round"])
    links = links.filter(pc.and_(pc.equal(links["round"], round_), pc.is_in(links["target_key"], new)))
    found = defaultdict(list)
    for source, target in zip(links["source_key"].to_pylist(), links["target_key"].to_pylist(), strict=True):
        found[source].append(target)
    return found


def _read(crawl: CrawlDir, manifests: Sequence[Manifest], table: str, columns: list[str]) -> pa.Table:
    return read_table(crawl.root, [file.path for file in files_of(manifests, table)], TABLES[table], columns)
