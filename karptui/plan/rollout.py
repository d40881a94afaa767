"""A cluster played forward as it is, or as edits make it: with what they drift, and without the nodes they remove."""

from __future__ import annotations

from karptui.forward.result import Played
from karptui.forward.run import HORIZON_NS, forward
from karptui.provisioning.reporter import Reporter, silent
from karptui.whatif.drift.drift import with_drift
from karptui.whatif.situation import Edited, WhatIfBase


def roll_out(
    base: WhatIfBase,
    edited: Edited | None = None,
    *,
    horizon_ns: int = HORIZON_NS,
    is_instant: bool = False,
    seed: int = 0,
    reporter: Reporter = silent,
) -> Played:
    """Return what becomes of a cluster.

    Args:
        base: The cluster as it is.
        edited: The same as edits make it; None to play it as it is.
        horizon_ns: How far it goes.
        is_instant: Whether launches, drains and starts of pods take no time and validation passes.
        seed: Decides what kube-scheduler leaves to chance.
        reporter: Told of the seconds that have passed and of all; may raise ``Cancelled``.

    Raises:
        Cancelled: when the reporter does.
    """
    situation = edited or base
    return forward(
        base.inventory if edited is None else with_drift(edited.inventory, base, edited),
        situation.types.types,
        situation.settings,
        base.now_ns,
        horizon_ns=horizon_ns,
        is_instant=is_instant,
        seed=seed,
        removed=() if edited is None else edited.removed,
        reporter=reporter,
    )
