"""The crawl directory: manifests of committed steps, what they make current, and who may write."""
