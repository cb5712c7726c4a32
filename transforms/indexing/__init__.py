"""The index: text analysis, inverted segments, their files, merging, tombstones and verification."""
