"""A parser of another package that ends its process: one document has failed, the crawl goes on."""

import os
import subprocess

import pytest

from tests.support.command_line import LOOPBACK, PROGRAM
from tests.support.crawls import rows
from tests.support.web import Answer, Web

PACKAGE = """
import os

from beamtrawl import Page, Source


class Fragile:
    media_types = frozenset({"text/fragile"})
    extensions = frozenset({"frg"})

    def parse(self, source: Source) -> Page | None:
        text, charset = source.decode()
        if text == "abort":
            os.abort()
        if text == "exit":
            os._exit(3)
        if text == "raise":
            raise KeyError(text)
        print("read", text)
        return source.page(text, charset=charset, links=[("/from-" + text, "on")])
"""
BODIES = ["one", "abort", "two", "exit", "raise", "three"]
FAILED = {
    "abort": "the process of the parser ended with SIGABRT",
    "exit": "the process of the parser ended with 3",
    "raise": "KeyError: 'raise'",
}


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow("whole crawls"))])
def test_a_parser_that_aborts_costs_its_page_only(tmp_path, workers):
    packages, directory = tmp_path / "packages", tmp_path / "crawl"
    about = packages / "fragile-1.dist-info"
    about.mkdir(parents=True)
    directory.mkdir()
    (packages / "fragile.py").write_text(PACKAGE)
    (about / "METADATA").write_text("Name: fragile\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[beamtrawl.parsers]\nfragile = fragile:Fragile\n")
    (directory / "crawl.toml").write_text('documents.kinds = ["html", "fragile"]\n')
    site = {"/": "<title>Home</title>" + "".join(f"<a href={name}.frg>{name}</a>" for name in BODIES)}
    site |= {f"/{name}.frg": Answer(body=name.encode(), headers=(("Content-Type", "text/fragile"),)) for name in BODIES}
    site |= {f"/from-{name}": f"<title>From {name}</title>" for name in BODIES}
    with Web({"a.test": site}) as web:
        command = [*PROGRAM, "crawl", directory, "--seed", web.url("a.test"), *LOOPBACK, "--workers", str(workers)]
        environment = os.environ | {"PYTHONPATH": str(packages)}
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    found = {row["url"].rpartition("/")[2]: dict(row["facts"] or ()) for row in rows(directory, "documents")}
    assert {name: found.pop(f"{name}.frg") for name in BODIES} == {
        name: {"parse_error": FAILED[name]} if name in FAILED else {} for name in BODIES
    }
    assert sorted(found) == sorted(["", *(f"from-{name}" for name in BODIES if name not in FAILED)])
