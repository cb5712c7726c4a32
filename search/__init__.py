"""The reading side of the index: queries, ranking, the gateway."""
