"""The robots.txt files that a crawl has stored, as if time had passed or they had changed."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from beamtrawl.pipeline.attempt import Attempt
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Step, files_of
from beamtrawl.transforms.rights.signals import text_of
from beamtrawl.transforms.robots.rules import parse
from beamtrawl.transforms.tables.table_files import TableWriter
from tests.support.crawls import rows


def replace_robots(path: Path, body: str | None = None) -> None:
    """Let two hours pass for the stored robots.txt; with a body, add one that has this body and was fetched now."""
    directory = CrawlDir(str(path))
    files = files_of(directory.manifests(), "robots")
    kept = [row | {"expires_at": row["expires_at"] - timedelta(hours=2)} for row in rows(path, "robots")]
    if body is not None:
        said = {"body": body.encode(), "signals": text_of(parse(body.encode(), "Beamtrawl").signal_lines)}
        kept.append(kept[-1] | said | {"fetched_at": datetime.now(UTC)})
    writer = TableWriter(directory.root, "robots", 1, "again")
    writer.write_rows(kept)
    written = writer.close()
    assert written is not None
    attempt = Attempt.after_earlier(directory, Step("compact", max(m.round for m in directory.manifests())))
    attempt.commit(files=[written], merged=files)
