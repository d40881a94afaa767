"""Metrics printed by Karpenter 1.14.1's own code, for the offerings of a small region."""

from __future__ import annotations

from pathlib import Path

KARPENTER: bytes = (Path(__file__).parent / "data" / "karpenter-1.14.1.txt").read_bytes()


def standby() -> bytes:
    """Return the metrics of a standby replica."""
    lines = [line for line in KARPENTER.splitlines(keepends=True) if line.startswith((b"karpenter_build", b"process_"))]
    return b"".join(lines) + b'leader_election_master_status{name="karpenter-leader-election"} 0\n'


def before_spot_prices() -> bytes:
    """Return the metrics before spot prices have been read: each equals the on-demand price."""
    prices = {}
    out = []
    for line in KARPENTER.splitlines(keepends=True):
        if line.startswith(b"karpenter_cloudprovider_instance_type_offering_price_estimate{"):
            name, _, value = line.rpartition(b" ")
            if b'"on-demand"' in name:
                prices[name] = value
            elif b'"spot"' in name:
                out.append(name + b" " + prices[name.replace(b'"spot"', b'"on-demand"')])
                continue
        out.append(line)
    return b"".join(out)
