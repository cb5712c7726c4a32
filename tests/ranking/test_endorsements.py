"""Which anchors describe a page, and how many of them are kept."""

import numpy as np
import pyarrow as pa

from beamtrawl.transforms.ranking.endorsements import anchors_of, count_votes, keep_specific


def votes(**targets: int) -> pa.Table:
    """Votes of one host: so many targets for each anchor."""
    rows = [
        {"host": "a.test", "folded": anchor, "target": target, "anchor": anchor.title()}
        for anchor, count in targets.items()
        for target in range(count)
    ]
    return pa.Table.from_pylist(rows)


def test_an_anchor_of_a_host_describes_three_pages_and_no_more():
    found = keep_specific(votes(chapter=3, next=4, guide=1))
    assert sorted(set(found["folded"].to_pylist())) == ["chapter", "guide"]


def test_a_host_that_uses_an_anchor_too_often_leaves_the_votes_of_others():
    others = pa.Table.from_pylist([{"host": "b.test", "folded": "next", "target": 7, "anchor": "Next"}])
    assert keep_specific(pa.concat_tables([votes(next=4), others])).to_pylist() == others.to_pylist()


def test_the_thousand_anchors_of_most_hosts_are_kept():
    rows = [{"host": "a.test", "folded": f"anchor {n}", "target": 0, "anchor": f"Anchor {n}"} for n in range(1_200)]
    rows += [{"host": "b.test", "folded": "anchor 1199", "target": 0, "anchor": "anchor 1199"}]
    ((first, *others), none) = anchors_of(count_votes(pa.Table.from_pylist(rows)), np.array([0, -1]))
    assert first == ("Anchor 1199", 2)
    assert len(others) == 999
    assert none == []
