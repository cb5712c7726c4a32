"""The state of a crawl as values, for status, report, explain and metrics."""
