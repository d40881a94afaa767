"""Amounts of resources in the words of remedies, and as quantities in edits."""

from __future__ import annotations

from karptui.kube.quantity import NANO, NANO_PER_MILLI
from karptui.kube.resources import CPU
from karptui.kube.units import is_in_bytes, mebibytes_text

_MIB = 1 << 20
_GIB_IN_MIB = 1 << 10


def whole_nano(resource: str, nano: int, *, is_up: bool) -> int:
    """Return an amount rounded to what people write: millicores, mebibytes, pieces."""
    unit = NANO_PER_MILLI if resource == CPU else NANO * _MIB if is_in_bytes(resource) else NANO
    return (-(-nano // unit) if is_up else nano // unit) * unit


def quantity_text(resource: str, nano: int) -> str:
    """Return a rounded amount as a quantity: ``238914Mi``, ``1500m``, ``2``."""
    if resource == CPU:
        millis = nano // NANO_PER_MILLI
        return f"{millis}m" if millis % 1000 else str(millis // 1000)
    return f"{nano // (NANO * _MIB)}Mi" if is_in_bytes(resource) else str(nano // NANO)


def amount_words(resource: str, nano: int) -> str:
    """Return a rounded amount for people: ``238,914Mi (233Gi)``, ``1500m``, ``12``."""
    if not is_in_bytes(resource):
        return quantity_text(resource, nano)
    mib = nano // (NANO * _MIB)
    whole = f" ({mib // _GIB_IN_MIB:,}Gi)" if mib >= 10 * _GIB_IN_MIB else ""
    return f"{mebibytes_text(nano // NANO)}{whole}"
