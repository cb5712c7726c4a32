"""Memory: what a step may take at most, what the machine gives, and the parts that fit."""
