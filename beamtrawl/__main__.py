"""`python -m beamtrawl`: the same program as the console script."""

import sys

from beamtrawl.runners.cli import main

sys.exit(main())
