"""Faults of the pages and links of one's own site, by what a crawl has stored of it."""
