"""When the program looks for reference cycles."""

import subprocess
import sys

from beamtrawl.runners.process.garbage import importing


def test_imports_are_not_searched_then_or_later() -> None:
    code = (
        f"import gc; from {importing.__module__} import importing;"
        "searches = []; gc.callbacks.append(lambda *search: searches.append(search));\n"
        "with importing(): kept = [[] for _ in range(100_000)]\n"
        "print(len(searches), gc.get_freeze_count() > 100_000, gc.isenabled())"
    )
    printed = subprocess.run([sys.executable, "-P", "-c", code], check=True, capture_output=True, text=True)
    assert printed.stdout == "0 True True\n"
