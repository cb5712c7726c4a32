"""Politeness: when a host may be asked for what, and the scheduler that asks."""
