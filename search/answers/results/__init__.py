"""Results: hits, host grouping, snippets and their rendering."""
