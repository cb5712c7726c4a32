"""The kinds of content that we read ourselves, a parser each; setup.py names them as any other package would."""
