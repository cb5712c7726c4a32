"""Where it runs and how it is asked for: the command line and the engines."""
