"""The contents of a crawl in the formats of other programs."""
