"""How often a crawl lists its manifests: once under a claim, as each list is a request on an object store."""

from pathlib import Path

import pytest

from beamtrawl.runners.process.lock import Lock
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest
from beamtrawl.transforms.outcomes import CrawlDirError

AT = "2026-03-01T11:59:00.000+00:00"
SEEDS, FETCH, UPDATE = (Manifest(step, 1, "", (), {}, (), AT, AT) for step in ("seeds", "fetch", "update"))


def steps(crawl: CrawlDir) -> list[str]:
    return [manifest.step for manifest in crawl.manifests()]


def test_the_owner_lists_manifests_once_and_again_when_it_commits(tmp_path: Path) -> None:
    anyone = CrawlDir(str(tmp_path))
    with Lock(CrawlDir(str(tmp_path))) as owner:
        assert steps(owner) == []
        anyone.commit(SEEDS)
        assert (steps(owner), steps(anyone)) == ([], ["seeds"])
        owner.commit(FETCH)
        assert steps(owner) == steps(anyone) == ["seeds", "fetch"]
        anyone.commit(UPDATE)
        with pytest.raises(CrawlDirError, match="another program has committed this step"):
            owner.commit(UPDATE)
        assert steps(owner) == ["seeds", "fetch", "update"]
