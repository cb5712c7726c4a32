"""`beamtrawl import`: what others have crawled, as rounds of a crawl."""
