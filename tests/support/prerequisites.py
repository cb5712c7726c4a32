"""What some tests need and a machine may not have: a browser, a cluster, folders beside the checkout."""

import os
from pathlib import Path
from typing import NoReturn

import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared"
"""The folder beside the checkout that projects of a workspace share: conformance cases, real sites."""


def lacks(reason: str, whole_module: bool = False) -> NoReturn:
    """Skip the test (or the module that is being imported) for a reason; in CI, which has everything, fail."""
    if os.environ.get("CI"):
        pytest.fail(f"CI lacks what this needs: {reason}")
    pytest.skip(reason, allow_module_level=whole_module)
