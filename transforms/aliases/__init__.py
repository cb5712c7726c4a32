"""Aliases: URLs of one host that content has proved to be one resource; rules, their evidence and their use."""
