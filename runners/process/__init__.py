"""This process: its lock on a crawl, threads, memory, and a job on its way to a cluster."""
