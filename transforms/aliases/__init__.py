"""Aliases: different URLs of one resource, inferred from content; rules, their evidence and their application."""
