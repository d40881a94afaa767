"""Karpenter's provisioner as a pure function of cluster, instance types and settings.

`prepare` indexes a cluster once; `solve` returns the result of one provisioning run, for the cluster as it is or with
some nodes removed and their pods rescheduled. No clock, no randomness, no input or output.

    prepared = prepare(inventory, instance_types, settings, now_ns)
    solution = solve(prepared)
    simulated = solve(prepared, pods, excluded=[provider_id], reserved_fallback=True, enforce_consolidate_after=True)
"""

from __future__ import annotations
