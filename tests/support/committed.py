"""Crawl directories with given rows, without a crawl."""

from pathlib import Path
from typing import Any

from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest
from beamtrawl.transforms.settings import Settings, render, settings_digest
from beamtrawl.transforms.tables.table_files import TableFile, TableWriter
from beamtrawl.transforms.urls.canonical import url_key


def commit_rows(root: Path, step: str, round_: int, tables: dict[str, list[dict[str, Any]]]) -> CrawlDir:
    """Commit a step with rows of tables; `url_key` and `round` are added where a row has a `url` and lacks them.

    Writes default settings, if there are none.
    """
    crawl = CrawlDir(str(root))
    if not crawl.exists("crawl.toml"):
        crawl.write_text("crawl.toml", render(Settings()))
    files: list[TableFile] = []
    for table, rows in tables.items():
        writer = TableWriter(crawl.root, table, round_)
        own = [{"url_key": url_key(row["url"])} if "url" in row else {} for row in rows]
        writer.write_rows([key | {"round": round_} | row for key, row in zip(own, rows, strict=True)])
        files += filter(None, [writer.close()])
    crawl.commit(Manifest(step, round_, settings_digest(Settings()), tuple(files), {}, (), "", ""))
    return crawl
