"""The commands about what may not be requested, and the page for webmasters."""
