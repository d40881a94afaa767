"""Story E with more traps in it: something for many rules to find, as a source for screens and commands."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from karptui.karpenter import labels
from karptui.karpenter.inventory import Inventory
from karptui.session.cluster_view import ClusterView
from tests import story_e
from tests.builders import a_nodepool, a_pdb, a_pod, a_requirement, amounts, an_owner
from tests.builders.clusters import state_of
from tests.builders.sources import InventorySource, live_statuses

FAMILY: Final = f"{labels.AWS_GROUP}/instance-family"


def inventory() -> Inventory:
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


def view() -> ClusterView:
    held = inventory()
    return ClusterView(state_of(held), live_statuses(held), evidence=story_e.evidence())


class TrapSource(InventorySource):
    def __init__(self) -> None:
        super().__init__("prod-eu-1", inventory())

    def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        """Return hardly more than the name."""
        return {"kind": kind, "metadata": {"name": key}}
