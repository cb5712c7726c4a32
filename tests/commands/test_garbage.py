"""When the program looks for reference cycles."""

import subprocess
import sys

from beamtrawl.runners.process.garbage import collect_rarely, importing


def test_the_end_of_a_process_skips_the_search_in_what_it_leaves() -> None:
    code = (
        f"import atexit, gc; from {collect_rarely.__module__} import collect_rarely;"
        "atexit.register(lambda: print(gc.get_freeze_count() > 100_000));"  # runs after those that follow
        "collect_rarely(); kept = [[] for _ in range(100_000)]"
    )
    printed = subprocess.run([sys.executable, "-P", "-c", code], check=True, capture_output=True, text=True)
    assert printed.stdout == "True\n"


def test_imports_are_not_searched_then_or_later() -> None:
    code = (
        f"import gc; from {importing.__module__} import importing;"
        "searches = []; gc.callbacks.append(lambda *search: searches.append(search));\n"
        "with importing(): kept = [[] for _ in range(100_000)]\n"
        "print(len(searches), gc.get_freeze_count() > 100_000, gc.isenabled())"
    )
    printed = subprocess.run([sys.executable, "-P", "-c", code], check=True, capture_output=True, text=True)
    assert printed.stdout == "0 True True\n"
