"""SQL over the tables of a crawl, by DuckDB inside this process."""
