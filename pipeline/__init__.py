"""What happens: whole jobs, readable from top to bottom."""
