"""What a command may end with: one line on stderr, and an exit code."""


class Usage(Exception):
    """The command line cannot be understood: exit 2."""


class Failure(Exception):
    """The command cannot do what was asked: exit 1."""
