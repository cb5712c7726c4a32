"""The search gateway: a web page and a JSON API over the index of a crawl."""
