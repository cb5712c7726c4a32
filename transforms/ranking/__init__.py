"""Ranking: PageRank and centrality of pages and hosts, in memory and through Beam."""
