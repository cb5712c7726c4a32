"""Queries: the query language, matching, scoring and spelling help."""
