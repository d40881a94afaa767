"""Names without the part that is the same for all of them."""

from __future__ import annotations

import re
from typing import Final

_ZONE: Final = re.compile(r"^(?P<region>.*?(?P<digit>\d))-?(?P<letter>[a-z0-9]+)$")


def short_zone(zone: str) -> str:
    """Return the part of a zone that differs within a region.

    ``us-east-1a`` is ``1a``, ``europe-west1-b`` is ``1b``.
    """
    match = _ZONE.match(zone)
    return f"{match['digit']}{match['letter']}" if match else zone


def short_name(name: str) -> str:
    """Return a node name without the domain that a cloud puts behind every one."""
    return name.partition(".")[0] if name.endswith(".internal") else name
