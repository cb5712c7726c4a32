"""Blocks: hosts and URLs that a crawl does not request, nor show in searches, until they are unblocked."""
