"""PageRank and harmonic centrality in memory, in numpy.

Nodes are numbers from 0 on, edges two parallel arrays. Takes about 100 bytes of memory an edge.
"""

import numpy as np
import numpy.typing as npt

Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

DAMPING = 0.85
"""The probability that a random surfer follows a link, as in the paper."""

MAX_EXACT_NODES = 4_096
"""The most nodes of a graph with exact centrality; in a larger one it is estimated from as many of its nodes."""

MAX_SWEEPS = 100
"""The most iterations of PageRank."""

TOLERANCE = 1e-9
"""The mean change of a rank in a sweep below which the iteration ends."""

_DOUBLINGS = 32  # chains of aliases are at most 2**32 long
_SOURCES_PER_SEARCH = 512  # of a breadth-first search, one bit each


def resolve(aliases: Longs) -> Longs:
    """The end of each node's chain of aliases; `aliases[node]` is the next node, or the node itself.

    A node that leads into a cycle resolves to some node of the cycle.

    >>> resolve(np.array([1, 2, 2, 3])).tolist()
    [2, 2, 2, 3]
    """
    for _ in range(_DOUBLINGS):
        aliases = aliases[aliases]
    return aliases


def distinct(sources: Longs, targets: Longs, nodes: int) -> tuple[Longs, Longs]:
    """The distinct edges, without loops, sorted by target and source."""
    edges = np.unique((targets * nodes + sources)[sources != targets])
    return edges % nodes, edges // nodes


def pagerank(sources: Longs, targets: Longs, nodes: int, weights: Floats | None = None) -> Floats:
    """PageRank (Brin and Page 1998) of distinct edges, relative to the mean: an average node has 1.

    A node divides its rank among its targets by the weights of the edges, which are above 0; without, evenly. The rank
    of nodes without links is distributed evenly over all nodes.
    """
    weights = np.ones(len(sources)) if weights is None else weights
    out = np.bincount(sources, weights, minlength=nodes)
    rank = np.ones(nodes)
    for _ in range(MAX_SWEEPS):
        before = rank
        shares = np.divide(rank, out, out=np.zeros(nodes), where=out > 0)
        dangling = float(rank[out == 0].sum())
        passed: Floats = np.bincount(targets, weights=shares[sources] * weights, minlength=nodes).astype(np.float64)
        rank = next_ranks(passed, dangling, nodes)
        if np.abs(rank - before).sum() < TOLERANCE * nodes:
            break
    return rank


def next_ranks(passed: Floats, dangling: float, nodes: int) -> Floats:
    """The ranks after a sweep; `passed` came through links, `dangling` is shared by all `nodes` of the graph."""
    return 1 - DAMPING + DAMPING * (passed + dangling / max(1, nodes))


def harmonic_centrality(sources: Longs, targets: Longs, nodes: int) -> Floats:
    """The sum of 1/distance from all nodes that reach a node (Boldi and Vigna, "Axioms for Centrality", 2014).

    Link spam moves it less than PageRank: it counts the nodes nearby, not their links. Edges are distinct and sorted
    by target.
    """
    chosen = np.linspace(0, nodes - 1, min(nodes, MAX_EXACT_NODES)).astype(np.int64)
    total = np.zeros(nodes)
    heads, starts = np.unique(targets, return_index=True)
    for begin in range(0, len(chosen) if len(targets) else 0, _SOURCES_PER_SEARCH):
        some = chosen[begin : begin + _SOURCES_PER_SEARCH]
        reached = np.zeros((nodes, _SOURCES_PER_SEARCH // 64), np.uint64)  # from which sources, a bit each
        bits = np.arange(len(some))
        reached[some, bits // 64] |= np.uint64(1) << (bits % 64).astype(np.uint64)
        distance = 0
        while True:
            distance += 1
            arriving = np.bitwise_or.reduceat(reached[sources], starts, axis=0)
            newly_reached = arriving & ~reached[heads]
            if not newly_reached.any():
                break
            reached[heads] |= newly_reached
            total[heads] += np.bitwise_count(newly_reached).sum(axis=1) / distance
    return total * (nodes / max(1, len(chosen)))
