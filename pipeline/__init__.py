"""The steps of a crawl: whole jobs, readable from top to bottom."""
