"""The standard streams of this process."""

import os
import sys


def open_closed_streams() -> None:
    """Connect standard streams that the process was started without (`>&-`, some supervisors) to the null device.

    Else the next file that is opened gets the descriptor of standard output, and what a library or a child process
    prints goes into a table.
    """
    for descriptor, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
            os.set_inheritable(descriptor, True)
            setattr(sys, name, open(descriptor, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
