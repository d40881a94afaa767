"""Story E with more traps in it: something for many rules to find, as a source for screens and commands."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from karptui.decode.kinds import Kind
from karptui.karpenter import labels
from karptui.karpenter.inventory import Inventory
from karptui.session.cluster_view import ClusterView
from karptui.sources.source import Mailbox, Phase, SourceStatus
from karptui.state.cluster import objects_of
from tests import story_e
from tests.builders import MINUTE_NS, NOW_NS, a_nodepool, a_pdb, a_pod, a_requirement, amounts, an_owner
from tests.builders.clusters import state_of
from tests.builders.sources import QuietSource

FAMILY: Final = f"{labels.AWS_GROUP}/instance-family"


def inventory() -> Inventory:
    """Return the objects."""
    story = story_e.inventory()
    return replace(
        story,
        nodepools=(
            *story.nodepools,
            a_nodepool(name="flex", weight=100, requirements=(a_requirement(FAMILY, "In", "*"),)),
            a_nodepool(name="spare", weight=50, limits=amounts({"cpu": "1"})),
        ),
        pdbs=(*story.pdbs, a_pdb(name="postgres-old", namespace="db", labels={"app": "postgres"})),
        pods=(
            *story.pods,
            a_pod(
                name="nightly-1",
                namespace="batch",
                owner=an_owner(kind="CronJob", name="nightly", api_version="batch/v1"),
                node="ip-10-0-8-41",
                annotations={labels.DO_NOT_DISRUPT: "1d"},
            ),
        ),
    )


def statuses() -> dict[str, SourceStatus]:
    """Return how each kind stands: all of them live."""
    objects = objects_of(inventory())
    return {
        str(kind): SourceStatus(
            kind=kind,
            phase=Phase.LIVE,
            since_ns=NOW_NS - MINUTE_NS,
            count=len(objects.get(kind, {})),
            last_contact_ns=NOW_NS,
        )
        for kind in Kind
    }


def view() -> ClusterView:
    """Return the cluster as screens see it."""
    return ClusterView(state_of(inventory()), dict(statuses()), evidence=story_e.evidence())


class TrapSource(QuietSource):
    """The cluster as a source."""

    title = "prod-eu-1"

    def start(self, mailbox: Mailbox) -> None:
        """Put everything into the mailbox."""
        for kind, items in objects_of(inventory()).items():
            mailbox.replace(kind, items)
        for status in statuses().values():
            mailbox.report(status)

    def stop(self) -> None:
        """Do nothing."""

    def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        """Return hardly more than the name."""
        return {"kind": kind, "metadata": {"name": key}}
