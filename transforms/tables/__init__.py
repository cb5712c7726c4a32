"""Tables: their schemas and Parquet files; scans, merges and damage of files."""
