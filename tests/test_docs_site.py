"""The documentation site: pages that are generated from the code are up to date, and the site has no broken link."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from beamtrawl.runners.commands.registry import COMMANDS

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    subprocess.run([sys.executable, DOCS / "reference.py", folder], check=True, stderr=subprocess.DEVNULL)
    return folder


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="argparse prints help in another form")
def test_generated_pages_are_up_to_date(generated: Path) -> None:
    pages = sorted(page.name for page in generated.iterdir())
    assert pages == ["commands.md", "settings.md"]
    old = [name for name in pages if (generated / name).read_text() != (DOCS / name).read_text()]
    assert old == [], "write them again: python docs/reference.py"


def test_every_command_has_a_section_with_its_help(generated: Path) -> None:
    text = (generated / "commands.md").read_text()
    assert re.findall(r"^## beamtrawl (\w+)$", text, re.MULTILINE) == [command.name for command in COMMANDS]
    sections = re.findall(r"^##+ beamtrawl (.+)\n(?:\n\[.*\n)?\n```text\nusage: beamtrawl (.+)$", text, re.MULTILINE)
    assert len(sections) > len(COMMANDS)  # check url and the like have their own
    assert all(usage.startswith(name) for name, usage in sections)


@pytest.mark.slow("documentation site")
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    environment = os.environ | {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}  # no network
    site = tmp_path / "site"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-n", "--keep-going", "-d", tmp_path / "cache", DOCS, site]
    built = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stderr) == (0, "")
    pages = list(site.rglob("*.html"))
    assert len(pages) > 50
    for page in pages:
        html = page.read_text(encoding="utf-8")
        assert re.findall(r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=\"(?:https?:)?//[^>]*", html) == [], page
