"""How often pages change, and when they are revisited: pure functions of numbers (docs/decisions/freshness.md)."""
