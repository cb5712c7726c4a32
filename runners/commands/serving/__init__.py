"""Pages of servers besides searches: submissions, and the page of a running crawl."""
