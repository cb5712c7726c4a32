"""Politeness: when requests to a host are allowed, and the scheduler that sends them."""
