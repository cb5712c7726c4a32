"""The secret of a crawl: made once, the same for all processes, readable by its owner alone."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from beamtrawl.transforms.aliases.secret import crawl_secret
from beamtrawl.transforms.directory.crawl_dir import CrawlDir


def test_all_that_ask_at_once_get_the_same_secret(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: crawl_secret(CrawlDir(str(tmp_path))), range(32)))
    (secret,) = found
    assert len(secret) == 32
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


def test_each_crawl_has_its_own(tmp_path: Path) -> None:
    crawls = [CrawlDir(str(tmp_path / name)) for name in ("a", "b")]
    for crawl in crawls:
        Path(crawl.root).mkdir()
    assert len({crawl_secret(crawl) for crawl in crawls}) == 2
