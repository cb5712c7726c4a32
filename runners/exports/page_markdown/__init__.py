"""Pages as Markdown: CommonMark 0.31 with the tables and strikethrough of GitHub Flavored Markdown (GFM)."""
