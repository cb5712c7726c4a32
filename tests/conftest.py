"""Settings of all tests."""

from hypothesis import settings

# A slow machine is no failure: examples have no deadline of their own.
settings.register_profile("beamtrawl", deadline=None)
settings.load_profile("beamtrawl")
