"""What has changed on the pages of a crawl since a round or a time."""
