"""What the stages of a step share: batches and their schemas, semi-joins with earlier rounds, writers, progress."""
