"""Relations of links: what their `rel` says of the target."""

UNENDORSED = frozenset({"nofollow", "sponsored", "ugc"})
"""Of links that their page does not vouch for."""

NOT_ENDORSING = UNENDORSED | {"contents", "first", "index", "last", "next", "prev", "previous", "start", "top", "up"}
"""Of links that say nothing for their target: those, and the way through a document (HTML 4.01, section 6.12)."""
