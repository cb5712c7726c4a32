"""URLs: canonical form, deduplication form, filters."""
