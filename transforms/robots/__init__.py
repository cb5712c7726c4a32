"""The robots exclusion standard (RFC 9309): rules, and how robots.txt is requested."""
