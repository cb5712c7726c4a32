"""What authors allow others to do with their content."""
