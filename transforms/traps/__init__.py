"""Traps: URL templates that keep yielding pages without new content."""
