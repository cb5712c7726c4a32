"""The progress of a crawl: what workers report, its state, events, and how they are shown."""
