"""Who matters in a graph of links, in numpy: nodes are numbers from 0 on, edges two parallel arrays.

All of it is in memory: about 100 bytes an edge.
"""

import numpy as np
import numpy.typing as npt

Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

DAMPING = 0.85
"""How likely somebody who follows links follows one more, as in the paper."""

MAX_EXACT_NODES = 4_096
"""Nodes of a graph up to which centrality is exact; beyond, it is estimated from so many of them."""

MAX_SWEEPS = 100
"""Of PageRank, at most."""

TOLERANCE = 1e-9
"""How little ranks change in a sweep, in the mean, when it was the last."""

_DOUBLINGS = 32  # no chain of aliases is longer than 2 to its power
_SOURCES_PER_SEARCH = 512  # sources of one breadth-first search: a bit each


def resolve(aliases: Longs) -> Longs:
    """Where each node leads in the end, if `aliases[node]` is the one that it stands for (often itself).

    Nodes of a circle stay somewhere on it, wherever they are numbered.

    >>> resolve(np.array([1, 2, 2, 3])).tolist()
    [2, 2, 2, 3]
    """
    for _ in range(_DOUBLINGS):
        aliases = aliases[aliases]
    return aliases


def distinct(sources: Longs, targets: Longs, nodes: int) -> tuple[Longs, Longs]:
    """Each edge once, without those of a node to itself, sorted by target and source."""
    edges = np.unique((targets * nodes + sources)[sources != targets])
    return edges % nodes, edges // nodes


def pagerank(sources: Longs, targets: Longs, nodes: int) -> Floats:
    """PageRank (Brin and Page 1998) of distinct edges, relative to the mean: 1 is an average node.

    What nodes without links hold goes to all nodes alike.
    """
    out = np.bincount(sources, minlength=nodes)
    rank = np.ones(nodes)
    for _ in range(MAX_SWEEPS):
        before = rank
        shares, lost = outgoing_shares(rank, out)
        passed: Floats = np.bincount(targets, weights=shares[sources], minlength=nodes).astype(np.float64)
        rank = next_ranks(passed, lost, nodes)
        if np.abs(rank - before).sum() < TOLERANCE * nodes:
            break
    return rank


def outgoing_shares(rank: Floats, out: Longs) -> tuple[Floats, float]:
    """What nodes with so many links give to each target in a sweep, and what those without links hold in all."""
    return np.divide(rank, out, out=np.zeros(len(rank)), where=out > 0), float(rank[out == 0].sum())


def next_ranks(passed: Floats, lost: float, nodes: int) -> Floats:
    """The ranks after a sweep of nodes that got so much through links, in a graph of `nodes`."""
    return 1 - DAMPING + DAMPING * (passed + lost / max(1, nodes))


def harmonic_centrality(sources: Longs, targets: Longs, nodes: int) -> Floats:
    """The sum of 1/distance over all nodes that lead to a node (Boldi and Vigna, "Axioms for Centrality", 2014).

    Links made for it move it less than PageRank, for it counts who is near, not how often they link. Edges are distinct
    and sorted by target.
    """
    chosen = np.linspace(0, nodes - 1, min(nodes, MAX_EXACT_NODES)).astype(np.int64)
    total = np.zeros(nodes)
    heads, starts = np.unique(targets, return_index=True)
    for begin in range(0, len(chosen) if len(targets) else 0, _SOURCES_PER_SEARCH):
        some = chosen[begin : begin + _SOURCES_PER_SEARCH]
        reached = np.zeros((nodes, _SOURCES_PER_SEARCH // 64), np.uint64)  # by which of the sources, a bit each
        bits = np.arange(len(some))
        reached[some, bits // 64] |= np.uint64(1) << (bits % 64).astype(np.uint64)
        distance = 0
        while True:
            distance += 1
            arriving = np.bitwise_or.reduceat(reached[sources], starts, axis=0)
            fresh = arriving & ~reached[heads]
            if not fresh.any():
                break
            reached[heads] |= fresh
            total[heads] += np.bitwise_count(fresh).sum(axis=1) / distance
    return total * (nodes / max(1, len(chosen)))
