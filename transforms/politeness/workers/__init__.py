"""What a worker of a fetch step stores and reports while the step runs."""
