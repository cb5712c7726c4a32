"""Install the package that docs/extending.md makes, as a package manager would, but offline and at once."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def blocks(language: str) -> list[str]:
    """The blocks of code in the document, in their order."""
    text = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def install(place: Path) -> None:
    """Put the package into a folder for PYTHONPATH."""
    project = tomllib.loads(blocks("toml")[0])["project"]
    (place / f"{project['name']}.py").write_text("\n\n".join(blocks("python")))
    about = place / f"{project['name']}-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    sections = (
        "\n".join([f"[{group}]", *(f"{name} = {target}" for name, target in points.items())])
        for group, points in project["entry-points"].items()
    )
    (about / "entry_points.txt").write_text("\n".join(sections))


def settings() -> str:
    """What crawl.toml says to use it."""
    return blocks("toml")[1]
