"""Everything that must hold before a change lands: format, lint, types, tests. The same here and in CI.

python tests/check.py [--all] [arguments of pytest]

Without --all, the tests marked slow are left out, and named at the end by category.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE_TREE = ROOT / ".cache" / "packages" / "beamtrawl"
"""Links to the folders of the checkout, in the tree that they are installed as: mypy knows a module by its path."""

PROCESSES = (os.cpu_count() or 1) + 1
"""Processes of pytest. Many tests wait for delays, time-outs and processes: with one per core, two fifths are idle."""

STEPS = (
    ("ruff", "format", "--check", "."),
    ("ruff", "check", "."),
    ("mypy",),
    ("mypy", "tests/api/typing_examples.py"),
    (
        *("pytest", "--numprocesses", str(PROCESSES), "--dist", "loadfile", "--no-loadscope-reorder"),
        *("--max-worker-restart", "0"),
    ),
)


def link_packages() -> None:
    """Make PACKAGE_TREE. Links that are there already stay, but for those that lead nowhere."""
    PACKAGE_TREE.mkdir(parents=True, exist_ok=True)
    for link in PACKAGE_TREE.iterdir():
        if not link.exists():
            link.unlink()
    folders = [ROOT / name for name in ("pipeline", "transforms", "runners", "search")]
    for target in (*(ROOT / "beamtrawl").glob("*.py*"), *folders):
        link = PACKAGE_TREE / target.name
        if not link.is_symlink():
            link.symlink_to(target)


def main() -> int:
    """Run each step; the first that fails ends it."""
    if {"-h", "--help"} & {*sys.argv}:
        print(__doc__.strip())
        return 0
    link_packages()
    chosen = [word for word in sys.argv[1:] if word != "--all"]
    if "--all" not in sys.argv:
        chosen.append("--short")
    # The tests start hundreds of processes; each would compile the package again.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for step in STEPS:
        words = [sys.executable, "-m", *step, *(chosen if step[0] == "pytest" else ())]
        print("$", " ".join(["python", *words[1:]]), flush=True)
        if code := subprocess.run(words, cwd=ROOT, env=environment, check=False).returncode:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
