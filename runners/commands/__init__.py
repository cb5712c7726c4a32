"""The commands of `beamtrawl`, one module each."""
