"""Explains a URL or a host: what the crawl knows about it, and why it is or is not in the index."""
