"""Engines: the runners of Beam that Beamtrawl starts, and their worker processes."""
