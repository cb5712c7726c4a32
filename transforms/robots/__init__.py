"""The robots exclusion standard (RFC 9309): rules, and the retrieval of robots.txt."""
