"""A run of a crawl: its start, its checks, and its progress shown."""
