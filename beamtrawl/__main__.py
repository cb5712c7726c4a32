"""The program `beamtrawl`: the console script, and `python -m beamtrawl`."""

import sys


def main() -> int:
    try:
        from beamtrawl.runners.program import cli  # most of a start is imports

        return cli.main()
    except KeyboardInterrupt:
        print("beamtrawl: stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
