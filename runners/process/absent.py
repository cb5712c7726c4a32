"""Modules that count as not installed: importing them takes time, and a process has no use for them."""

import contextlib
import sys
from collections.abc import Collection, Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

BEAM_OPTIONAL = frozenset({"apache_beam.io.gcp.bigquery", "boto3", "bson", "pandas", "pymongo"})
"""What Beam imports with itself where it is installed, for connectors and data frames; no pipeline here has any."""


class Absent(MetaPathFinder):
    """Finds none of some modules, while it is in `sys.meta_path`."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in self._names:
            raise ModuleNotFoundError(f"{fullname} is not used by this command", name=fullname)
        return None


@contextlib.contextmanager
def absent(names: Collection[str]) -> Iterator[None]:
    """Refuse imports of some modules in the block; afterwards, those that need them can import them."""
    finder = Absent(names)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def keep_pandas_out() -> None:
    """Let Arrow look for pandas, and find none: else its first array imports it (0.3 CPU s). Plug-ins may import it."""
    import pyarrow as pa  # noqa: PLC0415 - help does without

    with absent({"pandas"}):
        pa.scalar(0)
