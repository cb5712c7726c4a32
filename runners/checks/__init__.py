"""Single requests to a host, at its pace."""
