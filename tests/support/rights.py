"""What hosts state about uses of their documents."""

from datetime import UTC, datetime

from beamtrawl.transforms.rights.reservations import PATH, parse
from beamtrawl.transforms.rights.tdm_rules import TdmFile, TdmRules


def tdm_rules(mining: bool | None) -> TdmRules:
    """The rules of a.test, whose file of TDMRep reserves all pages or none; without a file if it is None."""
    if mining is None:
        return {}
    body = b'[{"location": "/*", "tdm-reservation": %d}]' % mining
    return {"a.test": TdmFile(f"http://a.test{PATH}", datetime(2026, 1, 1, tzinfo=UTC), parse(body))}
