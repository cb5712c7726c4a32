"""Cases of public test suites, shared by the projects of a workspace and not copied into any of them."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.prerequisites import SHARED
from tests.support.tables import each_row

FOLDER = SHARED / "conformance"


def cases(name: str, kind: str) -> list[Any]:
    """The rows of one kind in `name`.jsonl as parameters (row,), by id.

    Without the file: one skipped parameter that says so; in CI, FileNotFoundError.
    """
    file = FOLDER / f"{name}.jsonl"
    if not file.is_file() and not os.environ.get("CI"):
        return [pytest.param({}, id=name, marks=pytest.mark.skip(reason=absent(file)))]
    rows = map(json.loads, file.read_bytes().splitlines())
    return [pytest.param(row, id=row["id"]) for row in rows if row["kind"] == kind]


def each_case(name: str, kind: str) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """One test of all rows of one kind (`tables.each_row`), by id; skipped without the file."""
    rows = cases(name, kind)

    def of_all(test: Callable[..., None]) -> Callable[[], None]:
        run = each_row({str(row.id): row.values for row in rows})(test)
        for mark in (mark for row in rows for mark in row.marks):
            run = mark(run)
        return run

    return of_all


def absent(file: Path) -> str:
    return f"the shared conformance cases are not here: no {file}"
