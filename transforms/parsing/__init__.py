"""Parsing: from the bytes of a body to a page with text, links, metadata and directives."""
