from __future__ import annotations

from typing import Any

from karptui.forward.durations import Durations
from karptui.forward.journal import Journal
from karptui.forward.play import Play
from karptui.forward.result import StepKind
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.settings import Settings
from tests.builders import HOUR_NS, NOW_NS, a_pdb, a_pod, an_owner
from tests.forward.making import TYPES, a_pair, a_world


class Photographed(Play):
    """A play that keeps its whole cluster whenever an instant is over."""

    photographs: dict[int, Inventory]

    def _note_moment(self) -> None:
        super()._note_moment()
        self.photographs = {**vars(self).get("photographs", {}), self.now_ns: self.world.inventory}


def by_key(inventory: Inventory) -> dict[str, dict[str, Any]]:
    fields = ("pods", "nodes", "nodeclaims", "pdbs")
    return {
        field: {getattr(item, "uid", "") + item.key: item for item in getattr(inventory, field)} for field in fields
    }


def test_the_cluster_at_an_instant_is_what_the_play_had_then() -> None:
    owner = an_owner()
    pods = [a_pod(name=f"a{i}", node="node-1", cpu="400m", owner=owner) for i in range(3)]
    pods.append(a_pod(name="b", node="node-2", cpu="900m", labels={"app": "other"}))
    inventory = a_world(a_pair("node-1", is_large=True), a_pair("node-2"), pods=pods, pdbs=[a_pdb(allowed=1)])
    journal = Journal()
    until_ns = NOW_NS + HOUR_NS
    play = Photographed(inventory, TYPES, Settings(), NOW_NS, until_ns=until_ns, durations=Durations(), journal=journal)
    played = play.run()
    assert {StepKind.READY, StepKind.BIND, StepKind.DRAIN} <= {step.kind for step in played.steps}
    for at_ns, then in play.photographs.items():
        assert by_key(journal.at(inventory, at_ns)) == by_key(then)
    assert journal.at(inventory, NOW_NS - 1) is inventory
