"""The command `export`, with one module for each kind."""
