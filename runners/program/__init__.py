"""From the words of a command line to an exit code."""
