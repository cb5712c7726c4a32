"""Documents: visits parsed into pages, and pages finished into rows of `documents`, `links` and the index."""
