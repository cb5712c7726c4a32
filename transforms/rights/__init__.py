"""The uses of their content that authors allow."""
