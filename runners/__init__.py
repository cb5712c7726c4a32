"""The command line, its commands, and the engines that run pipelines."""
