"""The sections of a report, one module each: `section(source)` returns what it shows."""
