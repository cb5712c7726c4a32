"""The sections of a report, one module each: `section(known)` returns what it shows."""
