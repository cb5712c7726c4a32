"""Office files and books: ZIP archives of XML. Runs in a guarded process (`read.py`)."""
