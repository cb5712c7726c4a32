"""HTTP: addresses, DNS, connections, requests, and the bounded reading of responses."""
