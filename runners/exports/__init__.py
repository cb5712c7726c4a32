"""What a crawl holds, in the formats of other programs."""
