"""Changes of the pages of a crawl since a round or a time."""
