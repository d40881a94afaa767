"""From a snapshot to a cluster that the engines can answer questions about."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from karptui.provisioning.prepared import Prepared
    from karptui.sources.snapshot.reader import Snapshot


def prepare_snapshot(snapshot: Snapshot, *, command: str) -> Prepared:
    """Return a snapshot made ready for the engines; what had to be assumed about instance types goes to stderr.

    Args:
        snapshot: The snapshot; instance types that it does not bring are worked out as for any other view.
        command: Name of the command, for the notes.
    """
    from karptui.aws.evidence import Evidence
    from karptui.provisioning import prepare
    from karptui.session.pool_types import offered_types

    evidence = Evidence(settings=snapshot.settings, instance_types=snapshot.instance_types)
    offered = offered_types(snapshot.inventory, snapshot.settings, evidence)
    for note in offered.notes:
        print(f"karptui {command}: {snapshot.name}: {note}", file=sys.stderr)
    return prepare(snapshot.inventory, offered.types, snapshot.settings, snapshot.captured_at_ns)
