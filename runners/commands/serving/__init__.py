"""What servers show besides searches: submissions, and the page of a running crawl."""
