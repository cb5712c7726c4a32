"""The frontier: which URLs a round fetches, the state of every URL, and when a page is visited again."""
