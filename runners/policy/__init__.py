"""The robot's information page for webmasters, from the settings of a crawl."""
