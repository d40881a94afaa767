"""The clusters that what-if commands start from: snapshots by name, a live cluster, or the demo."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from karptui.cli.evidence import ASKING_FLAGS
from karptui.cli.flags import LIVE_FLAGS, refuse_unused
from karptui.cli.source import UsageError

if TYPE_CHECKING:
    from karptui.whatif.situation import WhatIfBase


class NamedBase(NamedTuple):
    """A cluster, or why there is none."""

    name: str
    base: WhatIfBase | None
    problem: str = ""
    notes: tuple[str, ...] = ()
    """Sentences about what was assumed, each with the name of the cluster or file it is about."""
    complaints: tuple[str, ...] = ()
    """Likewise about what is missing from it; with any, the exit status is 1."""

    def tell(self, command: str) -> int:
        """Say on standard error what was assumed and what is missing, and return the exit status that goes with it."""
        from karptui.views.sanitize import clean

        for sentence in (*self.notes, *self.complaints):
            print(f"karptui {command}: {clean(sentence)}", file=sys.stderr)
        return 1 if self.complaints else 0


def bases(args: argparse.Namespace) -> Iterator[NamedBase]:
    """Yield the clusters that the arguments name, one for each snapshot.

    Raises:
        UsageError: where the flags name no cluster that can be had.
    """
    if args.snapshots and (args.snapshot or args.demo or args.context):
        raise UsageError("give snapshots either by themselves or as --snapshot, and no other cluster beside them")
    if args.snapshots:
        refuse_unused(args, {**LIVE_FLAGS, **ASKING_FLAGS}, "is about a live cluster: it does not go with a snapshot")
        now = "does not apply to snapshots given by themselves: give them as --snapshot"
        refuse_unused(args, {"now": "--now"}, now)
        for path in args.snapshots:
            yield _of_snapshot(path, args)
    else:
        yield _of_flags(args)


def _of_snapshot(path: str, args: argparse.Namespace) -> NamedBase:
    from karptui.aws.evidence import prices_of
    from karptui.aws.region import place_of
    from karptui.cli.collector import collector_at_rest
    from karptui.cli.evidence import evidence_for
    from karptui.session.whatif_base import types_for
    from karptui.sources.base import SourceError
    from karptui.sources.snapshot.reader import SnapshotReader
    from karptui.sources.snapshot.source import SnapshotSource
    from karptui.whatif.situation import WhatIfBase

    try:
        with collector_at_rest():
            snapshot = SnapshotReader().read([path], strict=True)
    except SourceError as error:
        return NamedBase(path, None, str(error))
    evidence = evidence_for(args, SnapshotSource(snapshot)).latest()

    inventory = snapshot.inventory
    prices = prices_of(evidence, place_of(inventory.nodes, inventory.nodeclasses))
    base = WhatIfBase(inventory, types_for(evidence), evidence.settings, snapshot.captured_at_ns, prices=prices)
    return NamedBase(snapshot.name, base, notes=snapshot.notes)


def _of_flags(args: argparse.Namespace) -> NamedBase:
    from karptui.cli.collector import collector_at_rest
    from karptui.cli.loading import load
    from karptui.decode.kinds import Kind
    from karptui.session.whatif_base import base_of

    needed = (Kind.NODE, Kind.NODECLAIM, Kind.POD, Kind.NODEPOOL, Kind.NODECLASS, Kind.DAEMONSET)
    with collector_at_rest():
        loaded = load(args, needed)
    name = "demo" if args.demo else " ".join(args.snapshot or ()) or args.context or "cluster"
    return NamedBase(name, base_of(loaded.view, loaded.now_ns), notes=loaded.notes, complaints=loaded.complaints)
