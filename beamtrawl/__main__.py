"""`python -m beamtrawl`: the same program as the console script."""

import sys

from beamtrawl.runners.program.cli import main

sys.exit(main())
