"""Built-in parsers, one per kind of content; setup.py declares them as entry points."""
