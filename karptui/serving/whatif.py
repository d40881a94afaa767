"""Answers for the what-if beside replays: names, settings, comparisons, sweeps, and how well the model does."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from typing import Final

from karptui.provisioning.reporter import silent
from karptui.session.cluster_view import ClusterView
from karptui.session.known_values import known_values
from karptui.session.packed import packed
from karptui.session.questions import (
    ComparedFound,
    ComparedWanted,
    ControllerFound,
    ControllerWanted,
    KnownValuesFound,
    KnownValuesWanted,
    PackedFound,
    PackedWanted,
    PointFound,
    PointWanted,
    SelfCheckFound,
    SelfCheckWanted,
    SweepBegun,
    SweepEnded,
    SweepUnwanted,
    SweepWanted,
)
from karptui.session.shared_base import SharedBase
from karptui.session.sweeper import Sweeper
from karptui.views.whatif.compare import self_check_text
from karptui.whatif.edits import EditError
from karptui.whatif.edits.apply import apply
from karptui.whatif.replay import replay
from karptui.whatif.run import answer
from karptui.whatif.self_check import self_check
from karptui.whatif.sweep import SweepPoint

MOST_JOBS: Final = 8
"""Processes of a sweep at most; each holds the cluster once more."""


def values(view: ClusterView, _: KnownValuesWanted) -> KnownValuesFound:
    """Return names and values of the cluster that are offered while typing."""
    return KnownValuesFound(generation=view.state.generation, values=known_values(view))


def controller(view: ClusterView, _: ControllerWanted) -> ControllerFound:
    """Return what is known of Karpenter itself."""
    evidence = view.evidence
    return ControllerFound(
        settings=evidence.settings,
        version=evidence.karpenter_version,
        title=evidence.controller.title if evidence.controller is not None else "",
    )


class WhatIfs:
    """Answers what is worked out on the cluster made ready for what-ifs."""

    def __init__(self, shared_base: SharedBase) -> None:
        """Begin without a sweep.

        Args:
            shared_base: The cluster made ready.
        """
        self._shared_base = shared_base
        self._sweeps: dict[int, tuple[Sweeper, Iterator[tuple[int, SweepPoint]]]] = {}
        self._number = 0
        self._lock = threading.Lock()

    def compared(self, view: ClusterView, wanted: ComparedWanted) -> ComparedFound:
        """Replay a scenario on the cluster as it is."""
        with self._shared_base.borrowed(view, wanted.now_ns) as base:
            return ComparedFound(answer=answer(base, wanted.scenario, silent, time.monotonic))

    def packed(self, view: ClusterView, wanted: PackedWanted) -> PackedFound:
        """Draw both sides of a scenario."""
        mode = wanted.scenario.replay
        with self._shared_base.borrowed(view, wanted.now_ns) as base:
            try:
                edited = apply(base, wanted.scenario.edits)
            except EditError as error:
                return PackedFound(problem=str(error))
            before, after = replay(base, mode), replay(edited, mode)
            found = packed(before, after)
            return PackedFound(
                nodes=found.nodes,
                left_out=found.left_out,
                waiting_before=len(before.unplaced),
                waiting_after=len(after.unplaced),
            )

    def self_checked(self, view: ClusterView, wanted: SelfCheckWanted) -> SelfCheckFound:
        """Say how many of the NodeClaims created lately the model makes too."""
        return SelfCheckFound(text=self_check_text(self_check(self._shared_base.take(view, wanted.now_ns))))

    def sweep(self, view: ClusterView, wanted: SweepWanted) -> SweepBegun:
        """Begin a sweep."""
        base = self._shared_base.take(view, wanted.now_ns)
        jobs = min(MOST_JOBS, os.cpu_count() or 1)
        sweeper = Sweeper(base, wanted.sweep, wanted.replay, jobs, self._shared_base.lock)
        with self._lock:
            for before, _ in self._sweeps.values():  # a screen that was left before it had begun
                before.cancel()
            self._sweeps.clear()
            self._number += 1
            self._sweeps[self._number] = sweeper, sweeper.points()
            return SweepBegun(number=self._number)

    def point(self, _: ClusterView, wanted: PointWanted) -> PointFound:
        """Wait for the next point of a sweep."""
        known, found = self._sweeps.get(wanted.number), None
        try:
            found = next(known[1], None) if known is not None else None
        finally:
            if found is None:
                self._sweeps.pop(wanted.number, None)
        return PointFound(position=found[0], point=found[1]) if found is not None else PointFound()

    def ended(self, _: ClusterView, wanted: SweepUnwanted) -> SweepEnded:
        """End a sweep."""
        known = self._sweeps.pop(wanted.number, None)
        if known is not None:
            known[0].cancel()
        return SweepEnded()
