"""`beamtrawl demo`: a small bundled web, crawled and searched on loopback."""
