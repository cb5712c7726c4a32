"""Shared parts of the stages: batches and their schemas, semi-joins with earlier rounds, writers, progress."""
