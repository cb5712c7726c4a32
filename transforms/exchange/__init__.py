"""Exchanges between the stages of a pipeline: batches, their schemas, joins with earlier rounds, writers."""
