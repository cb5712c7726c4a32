"""Estimates of a crawl before it: pages, requests, bytes, time, what bounds it, and money."""
