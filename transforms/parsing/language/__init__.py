"""Detects the language of a text."""
