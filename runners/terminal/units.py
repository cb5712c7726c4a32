"""Counts, sizes and times in words."""


def counted(count: int, thing: str) -> str:
    """The number of things, the name of which takes an s in the plural.

    >>> counted(1, "URL"), counted(2, "URL")
    ('1 URL', '2 URLs')
    """
    return f"{count} {thing}{'' if count == 1 else 's'}"


def size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def latency(elapsed_ms: float | None) -> str:
    """The time of an answer, in the unit that fits.

    >>> latency(64.0), latency(32768.0), latency(None)
    ('64 ms', '33 s', 'an unknown time')
    """
    if elapsed_ms is None:
        return "an unknown time"
    return f"{elapsed_ms:.0f} ms" if elapsed_ms < 1000 else f"{elapsed_ms / 1000:.2g} s"


def span(seconds: float) -> str:
    """A time in the unit that fits.

    >>> span(5000), span(0.25), span(7)
    ('1.4 h', '0.2 s', '7 s')
    """
    for unit, length in (("days", 86_400.0), ("h", 3_600.0), ("min", 60.0)):
        if seconds >= length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:,.1f} s" if seconds % 1 else f"{seconds:,.0f} s"


def duration(seconds: float) -> str:
    """A time, rounded to seconds, or to minutes from an hour on.

    >>> duration(1.8), duration(59.6), duration(3661.0)
    ('2 s', '1 min 0 s', '1 h 1 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
