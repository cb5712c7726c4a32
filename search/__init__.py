"""The reading side of the index: queries, scores, results and the gateway."""
