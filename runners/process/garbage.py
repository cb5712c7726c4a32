"""When Python looks for reference cycles in the processes of this program.

Building a pipeline makes hundreds of thousands of objects that live as long as it does, and a page makes thousands of
short-lived ones without cycles. With Python's defaults, the search takes 15 % of the CPU time of a small step and 10 %
of that of imports.
"""

import contextlib
import gc
from collections.abc import Iterator

_THRESHOLDS = (20_000, 20, 20)  # objects more than before, and collections of the generation below


def collect_rarely() -> None:
    """Look for cycles rarely."""
    gc.set_threshold(*_THRESHOLDS)


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Exempt what is made in the block, and everything before it, from later searches."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
