"""Ranks of graphs, against their definitions."""

import doctest
from collections import deque

import numpy as np
import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.ranking import pagerank as pagerank_module
from beamtrawl.transforms.ranking.pagerank import distinct, harmonic_centrality, pagerank, resolve

# Stated here and not imported: a changed limit fails a test.
DAMPING = 0.85

NODES = 7
EDGES = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=30)
WEIGHTED = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1), st.floats(0.001, 1)), max_size=30)


def graph(edges, nodes=NODES):
    pairs = np.array(edges, np.int64).reshape(-1, 2)
    return (*distinct(pairs[:, 0], pairs[:, 1], nodes), nodes)


@given(EDGES)
def test_each_edge_is_there_once_without_loops_and_by_target(edges):
    sources, targets, _ = graph(edges)
    found = list(zip(targets.tolist(), sources.tolist(), strict=True))
    assert found == sorted({(target, source) for source, target in edges if source != target})


@given(EDGES)
def test_without_weights_all_edges_have_the_same(edges):
    sources, targets, nodes = graph(edges)
    assert pagerank(sources, targets, nodes) == pytest.approx(
        pagerank(sources, targets, nodes, np.full(len(sources), 0.25))
    )


@given(WEIGHTED)
def test_pagerank_solves_its_equations(edges):
    of_edges, nodes = {(source, target): weight for source, target, weight in edges if source != target}, NODES
    sources, targets = np.array([*of_edges], np.int64).reshape(-1, 2).T
    weights = np.array([*of_edges.values()], np.float64)
    matrix = np.zeros((nodes, nodes))  # how a person moves from one to the next
    matrix[targets, sources] = weights
    for node in range(nodes):
        out = matrix[:, node].sum()
        matrix[:, node] = matrix[:, node] / out if out else 1 / nodes
    exact = np.linalg.solve(np.eye(nodes) - DAMPING * matrix, np.full(nodes, 1 - DAMPING))
    found = pagerank(sources, targets, nodes, weights)
    assert found == pytest.approx(exact, rel=1e-6)
    assert found.mean() == pytest.approx(1)


def distances_to(node, edges):
    """How far it is from each node that leads to this one."""
    found, queue = {node: 0}, deque([node])
    while queue:
        at = queue.popleft()
        for source, target in edges:
            if target == at and source not in found:
                found[source] = found[at] + 1
                queue.append(source)
    return [distance for distance in found.values() if distance]


@given(EDGES)
def test_harmonic_centrality_is_the_sum_of_inverse_distances(edges):
    expected = [sum(1 / distance for distance in distances_to(node, edges)) for node in range(NODES)]
    assert harmonic_centrality(*graph(edges)) == pytest.approx(expected)


def test_centrality_is_of_all_nodes_of_a_larger_graph():
    nodes = 1_300  # several searches
    ring = [(n, (n + 1) % nodes) for n in range(nodes)]
    assert harmonic_centrality(*graph(ring, nodes)) == pytest.approx(sum(1 / n for n in range(1, nodes)))


def test_centrality_of_a_very_large_graph_is_estimated():
    nodes = 3 * 4_096
    star = [(n, 0) for n in range(1, nodes)]
    assert harmonic_centrality(*graph(star, nodes))[0] == pytest.approx(nodes, rel=0.01)


@pytest.mark.parametrize(
    ("aliases", "found"),
    [([], []), ([0], [0]), ([1, 2, 3, 4, 5, 6, 6], [6] * 7), ([0, 0, 1, 1], [0] * 4)],
)
def test_aliases_lead_to_their_end(aliases, found):
    assert resolve(np.array(aliases, np.int64)).tolist() == found


def test_aliases_in_a_circle_stay_on_it():
    assert set(resolve(np.array([1, 2, 0, 2])).tolist()) <= {0, 1, 2}


def test_examples():
    assert doctest.testmod(pagerank_module) == (0, 1)
