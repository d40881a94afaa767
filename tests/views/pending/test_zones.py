from __future__ import annotations

import pytest

from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import ZONE
from karptui.kube.pod import Pod, PodVolume
from karptui.kube.selectors import NodeSelectorTerm
from karptui.kube.volumes import PersistentVolume, PersistentVolumeClaim
from karptui.pending.causes import zones_of_volumes
from karptui.state.cluster import ClusterState
from karptui.views.pending.sentences import zone_lines
from tests.builders import a_pod, a_requirement
from tests.builders.clusters import state_of
from tests.stories import plain_text

NEVER = " · no zone is in all of them: the pod fits no node"
LABEL = "example.com/rack"


def a_term(key: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=(a_requirement(key, "In", *values),))


def a_state(**volumes: tuple[NodeSelectorTerm, ...]) -> ClusterState:
    return state_of(
        Inventory(
            claims=tuple(
                PersistentVolumeClaim(name=name, namespace="db", volume_name=f"pv-{name}") for name in volumes
            ),
            volumes=tuple(
                PersistentVolume(name=f"pv-{name}", required_node_terms=terms) for name, terms in volumes.items()
            ),
        )
    )


def waiting(*names: str, zone: str = "") -> Pod:
    selector = {ZONE: zone} if zone else {}
    volumes = tuple(PodVolume(name=name, claim_name=name) for name in names)
    return a_pod(name="report-0", namespace="db", volumes=volumes, node_selector=selector)


STATE = a_state(a=(a_term(ZONE, "us-east-1a"),), b=(a_term(ZONE, "us-east-1b"),),
                either=(a_term(ZONE, "us-east-1a"), a_term(ZONE, "us-east-1c")), rack=(a_term(LABEL, "7"),),
                everywhere=())  # fmt: skip


@pytest.mark.parametrize(("pod", "expected"), [
    (waiting(), ""),
    (waiting(zone="us-east-1a"), ""),
    (waiting("everywhere", "rack"), ""),
    (waiting("missing"), ""),
    (waiting("a"), "zones  PVC db/a → us-east-1a"),
    (waiting("a", "everywhere"), "zones  PVC db/a → us-east-1a"),
    (waiting("a", "either"),
     "zones  PVC db/a → us-east-1a · PVC db/either → us-east-1a, us-east-1c · leaves us-east-1a"),
    (waiting("b", zone="us-east-1a"), f"zones  nodeSelector → us-east-1a · PVC db/b → us-east-1b{NEVER}"),
])  # fmt: skip
def test_who_binds_a_pod_to_which_zone(pod: Pod, expected: str) -> None:
    assert plain_text(zone_lines(pod, zones_of_volumes(pod, STATE))) == expected
