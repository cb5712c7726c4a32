"""Runs a query: matching, the best documents, hits, and the next page."""
