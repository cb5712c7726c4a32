"""Duplicates: content digests, exact duplicates, MinHash signatures and clusters of near duplicates."""
