"""Everything that must hold before a change lands: format, lint, types, tests. The same here and in CI.

python tests/check.py [arguments of pytest]
"""

import subprocess
import sys
from pathlib import Path

STEPS = (
    ("ruff", "format", "--check", "."),
    ("ruff", "check", "."),
    ("mypy",),
    ("pytest", "--numprocesses", "auto", "--dist", "loadfile"),
)


def main() -> int:
    """Run each step; the first that fails ends it."""
    for step in STEPS:
        words = [sys.executable, "-m", *step, *(sys.argv[1:] if step[0] == "pytest" else ())]
        print("$", " ".join(["python", *words[1:]]), flush=True)
        if code := subprocess.run(words, cwd=Path(__file__).parent.parent, check=False).returncode:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
