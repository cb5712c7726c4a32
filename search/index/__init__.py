"""Reading the index: segments, postings, and the files that hold them."""
