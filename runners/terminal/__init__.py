"""Output on a terminal: errors, units, numbers, matches, and untrusted text made visible."""
