"""Sitemaps: their formats, and the links that they give to a crawl."""
