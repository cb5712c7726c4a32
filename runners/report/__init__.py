"""The report of a crawl: one self-contained HTML file, from aggregates of the tables and manifests."""
