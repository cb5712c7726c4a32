"""Reading web archives of others: files and their members, records, and what is imported of them."""
