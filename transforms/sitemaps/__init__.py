"""Sitemaps: parsing, and the candidates of the crawl that they name."""
