"""Who matters in a graph of links, in numpy: nodes are numbers from 0 on, edges two parallel arrays.

All of it is in memory: about 100 bytes an edge.
"""

import numpy as np
import numpy.typing as npt

Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

DAMPING = 0.85
"""How likely somebody who follows links follows one more, as in the paper."""

EXACT = 4_096
"""Nodes of a graph up to which centrality is exact; beyond, it is estimated from so many of them."""

_SWEEPS, _NEAR = 100, 1e-9
_AT_ONCE = 512  # sources of one breadth-first search: a bit each


def resolve(aliases: Longs) -> Longs:
    """Where each node leads in the end, if `aliases[node]` is the one that it stands for (often itself).

    Nodes of a circle stay somewhere on it.

    >>> resolve(np.array([1, 2, 2, 3])).tolist()
    [2, 2, 2, 3]
    """
    for _ in range(max(1, len(aliases)).bit_length()):
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
    share = np.divide(1.0, out, out=np.zeros(nodes), where=out > 0)
    rank = np.ones(nodes)
    for _ in range(_SWEEPS):
        before = rank
        lost = rank[out == 0].sum() / max(1, nodes)
        passed = np.bincount(targets, weights=(rank * share)[sources], minlength=nodes)
        rank = 1 - DAMPING + DAMPING * (passed + lost)
        if np.abs(rank - before).sum() < _NEAR * nodes:
            break
    return rank


def harmonic_centrality(sources: Longs, targets: Longs, nodes: int) -> Floats:
    """The sum of 1/distance over all nodes that lead to a node (Boldi and Vigna, "Axioms for Centrality", 2014).

    Links made for it move it less than PageRank, for it counts who is near, not how often they link. Edges are distinct
    and sorted by target.
    """
    chosen = np.linspace(0, nodes - 1, min(nodes, EXACT)).astype(np.int64)
    total = np.zeros(nodes)
    heads, starts = np.unique(targets, return_index=True)
    for begin in range(0, len(chosen) if len(targets) else 0, _AT_ONCE):
        some = chosen[begin : begin + _AT_ONCE]
        reached = np.zeros((nodes, _AT_ONCE // 64), np.uint64)  # by which of the sources, a bit each
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
