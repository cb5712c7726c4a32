"""Storage: the crawl directory, its tables and files, and joins with the history of earlier rounds."""
