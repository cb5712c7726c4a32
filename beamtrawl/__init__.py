"""Beamtrawl: a polite, breadth-first batch web crawler and full-text indexer on Apache Beam."""

__version__ = "0.1.0"
