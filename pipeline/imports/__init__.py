"""Importing web archives: the captures of others become the visits of a round."""
