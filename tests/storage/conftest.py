"""An object store on loopback, with the environment by which programs and this process reach it."""

import os
from collections.abc import Iterator

import pytest

try:
    from tests.support.object_stores import STORES, Store
except ModuleNotFoundError:  # the modules that need it are skipped
    STORES = {}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> "Iterator[Store]":
    before = dict(os.environ)
    with STORES[request.param]() as store:
        os.environ.update(store.environment)
        yield store
    os.environ.clear()
    os.environ.update(before)
