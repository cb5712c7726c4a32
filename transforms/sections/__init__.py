"""Sections of a text: where each begins, and what a place in the text leads to."""
