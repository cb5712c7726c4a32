"""What is used of Beam beyond its documentation: found in this version, and done without in another."""

from pathlib import Path

import apache_beam as beam
import pytest

from beamtrawl.runners.engines.beam_parts import PARTS, missing_parts
from beamtrawl.runners.engines.choose import engine, notice
from tests.support.crawls import crawl, states
from tests.support.web import Web, html

CHANGED = {
    "apache_beam.coders.coder_impl": ("create_OutputStream", "no_such_function"),
    "apache_beam.no_such_module": ("anything",),
    "apache_beam.runners.portability.fn_api_runner.execution": ("GroupingBuffer._table", "GroupingBuffer._no_such"),
}


def test_this_version_has_all_parts() -> None:
    assert missing_parts() == []
    assert notice(engine("direct", None, [])) == ""


def test_each_missing_part_is_named() -> None:
    assert missing_parts(CHANGED) == [
        "apache_beam.coders.coder_impl.no_such_function",
        "apache_beam.no_such_module.anything",
        "apache_beam.runners.portability.fn_api_runner.execution.GroupingBuffer._no_such",
    ]


@pytest.mark.parametrize("name", [f"{module}.{name}" for module, names in PARTS.items() for name in names])
def test_a_part_that_is_renamed_is_noticed(name: str) -> None:
    module = next(module for module in PARTS if name.startswith(f"{module}."))
    renamed = f"{name.removeprefix(module)[1:]}_of_old"
    assert missing_parts({module: [renamed]}) == [f"{module}.{renamed}"]


@pytest.mark.slow("whole crawls")
def test_without_them_a_crawl_runs_by_beams_own_runner(tmp_path: Path) -> None:
    stock = engine("direct", 2, [], CHANGED)
    assert notice(stock) == (
        f"apache-beam {beam.__version__} has no apache_beam.coders.coder_impl.no_such_function and 2 more: all steps"
        " run in one process, slower and with more memory; a version that this program was tested with is in"
        " constraints.txt"
    )
    with Web({"a.test": {"/": html("Home", "words", ["/b"]), "/b": html("B", "other words")}}) as web:
        assert crawl(tmp_path, [web.url("a.test")], engine=stock).reason == "frontier_empty"
    assert {row["state"] for row in states(tmp_path).values()} == {"fetched"}
