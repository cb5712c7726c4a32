"""Cases of public test suites, shared by the projects of a workspace and not copied into any of them."""

import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "conformance"


def cases(name: str, kind: str) -> list[Any]:
    """The rows of one kind in `name`.jsonl as parameters (row,), by id; one skipped parameter if there is no file."""
    file = FOLDER / f"{name}.jsonl"
    if not file.is_file():
        return [pytest.param({}, id=name, marks=pytest.mark.skip(reason=f"{file} is not there"))]
    rows = map(json.loads, file.read_bytes().splitlines())
    return [pytest.param(row, id=row["id"]) for row in rows if row["kind"] == kind]
