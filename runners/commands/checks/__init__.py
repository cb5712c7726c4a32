"""The command `check`, with one module for each kind of requests."""
