"""The Python example of the README runs as it stands."""

import re
from pathlib import Path

import pytest

import beamtrawl


def test_the_example_of_the_readme(finished: beamtrawl.Report, capsys: pytest.CaptureFixture[str]) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    example = example.replace("./demo", finished.directory).replace("lighthouse", "herring")
    exec(example)  # it is ours
    found = capsys.readouterr().out
    assert "Fishing by the moon" in found
    assert "pages: [[3]]" in found
