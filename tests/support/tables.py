"""Tests of tables: one test for all rows of a table, as a test costs more than most rows."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence

import pytest


def each_row(rows: Mapping[str, Sequence[object]]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Run a test for each row of a table, by its name; the test fails with all rows that fail.

    It is `pytest.mark.parametrize` without an item for each row, which every process collects. For functions without
    side effects: a row has no fixtures, and none may skip, which would hide the rows after it.
    """

    def of_all(test: Callable[..., None]) -> Callable[[], None]:
        @functools.wraps(test)
        def run() -> None:
            failures = []
            for name, row in rows.items():
                try:
                    test(*row)
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as failure:
                    failure.add_note(f"The row is {name!r}.")
                    failures.append(failure)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(rows)} rows fail", failures)

        run.__signature__ = inspect.Signature()  # type: ignore[attr-defined]  # the parameters are no fixtures
        return run

    return of_all
