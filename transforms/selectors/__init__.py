"""CSS selectors and XPath expressions whose time on a hostile page is bounded."""
