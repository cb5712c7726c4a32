"""Keys in bulk: partitions in the order of keys, and a filter that never loses one."""

import hashlib
import pickle

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.tables.bloom import Bloom, partitions, shard
from beamtrawl.transforms.tables.schemas import KEY

KEYS = st.lists(st.binary(min_size=16, max_size=16), max_size=50)


def array(keys):
    return pa.array(keys, KEY)


def digests(first, count):
    return [hashlib.blake2b(str(n).encode(), digest_size=16).digest() for n in range(first, first + count)]


def holding(keys, expected=1000):
    bloom = Bloom(expected)
    bloom.add(array(keys))
    return bloom


@given(KEYS, st.integers(0, 1000))
def test_a_filter_never_loses_a_key(keys, expected):
    bloom = holding(keys, expected)
    assert bloom.mask(array(keys)).all()
    assert bloom.mask(array(keys)).all()


def test_few_strange_keys_pass_a_filter_of_the_expected_size():
    count = 6553  # ten bits each fill 2**16 bits: nothing is gained by rounding up
    bloom = holding(digests(0, count), count)
    assert bloom.mask(array(digests(count, 20_000))).mean() < 0.015


def test_an_empty_filter_holds_nothing():
    assert not Bloom(0).mask(array(digests(0, 100))).any()


@given(KEYS)
def test_a_filter_is_the_same_after_a_journey(keys):
    bloom = holding(keys)
    travelled = pickle.loads(pickle.dumps(bloom))
    assert pickle.dumps(travelled) == pickle.dumps(bloom)
    assert travelled.mask(array(keys)).all()


@pytest.mark.parametrize("count", [1, 2, 3, 7, 256])
def test_partitions_are_equal_ranges_of_the_key_space_in_its_order(count):
    keys = [n.to_bytes(2) + bytes(14) for n in range(1 << 16)]  # sorted, and evenly spread
    numbers = partitions(array(keys), count).tolist()
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(count))
    sizes = [numbers.count(number) for number in range(count)]
    assert max(sizes) - min(sizes) <= 1


@given(KEYS, st.integers(1, 256))
def test_every_key_has_a_partition_and_they_are_in_order(keys, count):
    numbers = partitions(array(sorted(keys)), count).tolist()
    assert numbers == sorted(numbers)
    assert all(0 <= number < count for number in numbers)


def test_slices_and_chunks_of_a_column_are_read_where_they_begin():
    keys = digests(0, 10)
    whole = partitions(array(keys), 256).tolist()
    assert partitions(array(keys).slice(3, 4), 256).tolist() == whole[3:7]
    assert partitions(pa.chunked_array([array(keys[:3]), array(keys[3:])]), 256).tolist() == whole
    assert partitions(pa.chunked_array([], KEY), 256).tolist() == []


# Of another process, another day: a change would part a host's pages from its earlier ones.
SHARDS = [("example.org", 1, 0), ("example.org", 8, 0), ("a.test:8080", 8, 4), ("한국.example", 100, 58)]


@pytest.mark.parametrize(("host", "count", "expected"), SHARDS)
def test_the_shard_of_a_host_never_changes(host, count, expected):
    assert shard(host, count) == expected


def test_both_names_of_a_site_have_one_shard():
    assert all(shard(f"www.{host}", 1000) == shard(host, 1000) for host, *_ in SHARDS)


@given(st.text(st.characters(codec="utf-8")), st.integers(1, 1000))
def test_every_host_has_a_shard(host, count):
    assert 0 <= shard(host, count) < count
