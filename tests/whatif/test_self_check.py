from __future__ import annotations

from itertools import islice
from typing import Any

import pytest
from msgspec.structs import replace

from karptui.karpenter.labels import CAPACITY_TYPE, INSTANCE_TYPE, NODEPOOL, NODEPOOL_HASH, ZONE
from karptui.kube.quantity import parse_quantity
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.provisioning.reporter import Cancelled
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Replay
from karptui.whatif.self_check import Reproduction, self_check
from karptui.whatif.situation import WhatIfBase
from tests.builders import (
    HOUR_NS,
    MINUTE_NS,
    NOW_NS,
    SECOND_NS,
    a_condition,
    a_node,
    a_nodeclaim,
    a_pod,
    an_instance_type,
    an_owner,
)
from tests.whatif.edits.test_apply import POOL
from tests.whatif.snapshots import base, base_of, documents
from tests.whatif.test_difference import another

TYPES = (an_instance_type(name="m5.large", cpu="2"), an_instance_type(name="m5.4xlarge", cpu="16", memory="64Gi"))


def launched(start: WhatIfBase, **changes: Any) -> WhatIfBase:
    """Return the cluster after Karpenter did what the model says: NodeClaims and nodes are there, pods are bound."""
    outcome = replay(start, Replay.PENDING)
    claims, nodes = [], []
    places: dict[str, str] = {}
    for index, made in enumerate(outcome.claims):
        names = tuple(made.instance_type_names)
        option = outcome.claim_types.of(made)[0]
        labels = {
            NODEPOOL: made.nodepool_name,
            INSTANCE_TYPE: option.name,
            ZONE: option.zone,
            CAPACITY_TYPE: option.capacity_type,
        }
        node = a_node(name=f"new-{index}", pool=made.nodepool_name, instance_type=option.name, labels=labels)
        claim = replace(
            a_nodeclaim(name=f"claim-{index}", labels=labels),
            node_name=node.name,
            provider_id=node.provider_id,
            created_ns=start.now_ns + index % 2 * SECOND_NS,
            requests=made.requests,
            requirements=(NodeSelectorRequirement(INSTANCE_TYPE, "In", names),),
            conditions=(a_condition("Launched"),),
        )
        claims.append(claim)
        nodes.append(node)
        places.update((pod.uid, node.name) for pod in made.pods)
    pods = tuple(
        replace(pod, node_name=places[pod.uid], phase="Running", scheduled_reason="") if pod.uid in places else pod
        for pod in start.inventory.pods
    )
    inventory = replace(
        start.inventory,
        pods=pods,
        nodes=(*start.inventory.nodes, *nodes),
        nodeclaims=(*start.inventory.nodeclaims, *claims),
        **changes,
    )
    return WhatIfBase(inventory, lambda *_: start.types, start.settings, start.now_ns + HOUR_NS)


def waiting(count: int, **fields: Any) -> tuple[Any, ...]:
    return tuple(a_pod(name=f"p-{i}", created_ns=NOW_NS - MINUTE_NS, **fields) for i in range(count))


@pytest.mark.parametrize("family", ["weights", "storyA", "topology", "daemons"])
def test_golden_clusters(family: str) -> None:
    for document in islice(documents(family), 2):
        start = base_of(document)
        found = self_check(launched(start), last=5)
        made = {one.claim_name: one for one in found.claims if one.claim_name.startswith("claim-")}
        assert {one.finding for one in made.values()} <= {Reproduction.REPRODUCED, Reproduction.NOT_COMPARABLE}


def check(start: WhatIfBase, **fields: Any) -> tuple[Reproduction, str]:
    (one,) = self_check(launched(start, **fields)).claims
    return one.finding, one.because


def test_what_cannot_be_compared() -> None:
    start = base(POOL, types=TYPES, pods=waiting(1, cpu="1"))
    made = launched(start)
    (pod,), (claim,) = made.inventory.pods, made.inventory.nodeclaims

    def now(**fields: Any) -> tuple[Reproduction, str]:
        inventory = replace(made.inventory, **fields)
        (one,) = self_check(WhatIfBase(inventory, lambda *_: start.types, start.settings, made.now_ns)).claims
        return one.finding, one.because

    assert now(pods=()) == (Reproduction.NOT_COMPARABLE, "the pods that it was created for are gone")
    assert now(pods=(replace(pod, created_ns=made.now_ns),))[1] == "the pods that it was created for are gone"
    assert now(nodepools=()) == (Reproduction.NOT_COMPARABLE, "its NodePool is gone")
    edited = replace(claim, annotations={NODEPOOL_HASH: "other"})
    assert now(nodeclaims=(edited,)) == (Reproduction.NOT_COMPARABLE, "its NodePool was edited since")
    static = replace(made.inventory.nodepools[0], replicas=1, annotations={})
    assert now(nodepools=(static,)) == (
        Reproduction.NOT_COMPARABLE,
        "its NodePool is static: it was not created for pods",
    )
    bigger = replace(claim, requests={name: amount + amount + amount for name, amount in claim.requests.items()})
    assert now(nodeclaims=(bigger,)) == (
        Reproduction.NOT_COMPARABLE,
        "most of the pods that it was created for are gone",
    )
    unlaunched = replace(claim, conditions=())
    inventory = replace(made.inventory, nodeclaims=(unlaunched,))
    empty = self_check(WhatIfBase(inventory, lambda *_: start.types, start.settings, made.now_ns))
    assert empty.claims == ()
    none = self_check(WhatIfBase(replace(made.inventory, pods=()), lambda *_: start.types, start.settings, made.now_ns))
    assert (len(none.claims), none.comparable) == (1, 0)


def test_what_differs() -> None:
    pools = (POOL, another("heavy", weight=90))
    start = base(POOL, types=TYPES, pods=waiting(1, cpu="1"))
    more = base(*pools, types=TYPES).inventory.nodepools
    assert check(start, nodepools=more) == (Reproduction.DIFFERS, "the model uses NodePool heavy")
    tight = {**POOL, "spec": {**POOL["spec"], "limits": {"cpu": "0"}}}
    finding, because = check(start, nodepools=base(tight).inventory.nodepools)
    assert finding is Reproduction.DIFFERS
    assert because.startswith("its pods are unschedulable in the model: ")
    assert "the limits of NodePool general" in because
    made = launched(start)
    other = replace(
        made.inventory.nodeclaims[0], labels={**made.inventory.nodeclaims[0].labels, INSTANCE_TYPE: "x9.huge"}
    )
    found = self_check(
        WhatIfBase(replace(made.inventory, nodeclaims=(other,)), lambda *_: start.types, start.settings, made.now_ns)
    )
    assert "none that allows x9.huge" in found.claims[0].because
    assert (found.comparable, found.reproduced) == (1, 0)
    free = a_node(name="own", pool="", cpu="16", memory="64Gi")
    tolerant = base(POOL, types=TYPES, pods=waiting(1, cpu="1", tolerations=(_all(),)))
    made = launched(tolerant)
    inventory = replace(made.inventory, nodes=(*made.inventory.nodes, free))
    (one,) = self_check(WhatIfBase(inventory, lambda *_: made.types, made.settings, made.now_ns)).claims
    assert one.because == "the model puts its pods on other nodes"


def _all() -> Any:
    from karptui.kube.taints import Toleration

    return Toleration(operator="Exists")


def test_it_reports_and_can_be_cancelled() -> None:
    made = launched(base(POOL, types=TYPES, pods=waiting(1)))
    seen: list[tuple[int, int]] = []
    self_check(made, reporter=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 1), (1, 1)]

    def stop(done: int, total: int) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        self_check(made, reporter=stop)


def test_nodeclaims_of_one_run_of_the_provisioner_are_replayed_together() -> None:
    made = launched(base(POOL, types=TYPES, pods=waiting(30, cpu="1")))
    first, second = made.inventory.nodeclaims

    def found(seconds: float, **pod_fields: Any) -> list[Reproduction]:
        apart = replace(second, created_ns=first.created_ns + int(seconds * SECOND_NS))
        pods = tuple(
            replace(pod, **pod_fields) if pod.node_name == second.node_name else pod for pod in made.inventory.pods
        )
        inventory = replace(made.inventory, nodeclaims=(first, apart), pods=pods)
        checked = self_check(WhatIfBase(inventory, lambda *_: made.types, made.settings, made.now_ns), last=1)
        return [one.finding for one in checked.claims]

    assert found(1) == [Reproduction.REPRODUCED] * 2, "the whole run, as one is not made without the other"
    assert found(5) == [Reproduction.REPRODUCED]
    assert found(1, created_ns=first.created_ns + 1) == [Reproduction.REPRODUCED], (
        "its pods were not there for the first"
    )


def test_what_was_made_with_others_that_are_gone_is_not_held_against_the_model() -> None:
    made = launched(base(POOL, types=TYPES, pods=waiting(30, cpu="1")))
    pods = tuple(pod for pod in made.inventory.pods if pod.node_name != "new-0")
    claims = tuple(
        replace(one, labels={**one.labels, INSTANCE_TYPE: "x9.huge"}) if one.node_name == "new-1" else one
        for one in made.inventory.nodeclaims
    )
    inventory = replace(made.inventory, pods=pods, nodeclaims=claims)
    checked = self_check(WhatIfBase(inventory, lambda *_: made.types, made.settings, made.now_ns))
    assert {one.finding for one in checked.claims} == {Reproduction.NOT_COMPARABLE}
    assert "other NodeClaims of its batch cannot be compared" in [one.because for one in checked.claims]


def test_daemonset_pods_count_for_what_a_nodeclaim_asked() -> None:
    made = launched(base(POOL, types=TYPES, pods=waiting(1, cpu="100m")))
    (claim,) = made.inventory.nodeclaims
    asked = {"cpu": parse_quantity("800m"), "memory": parse_quantity("1152Mi")}
    bigger = replace(claim, requests=asked)
    daemon = a_pod(
        name="agent", node=claim.node_name, owner=an_owner(kind="DaemonSet", name="agent"), cpu="700m", memory="1Gi"
    )

    def found(*pods: Any) -> Reproduction:
        inventory = replace(made.inventory, nodeclaims=(bigger,), pods=(*made.inventory.pods, *pods))
        (one,) = self_check(WhatIfBase(inventory, lambda *_: made.types, made.settings, made.now_ns)).claims
        return one.finding

    assert found() is Reproduction.NOT_COMPARABLE
    assert found(daemon) is Reproduction.REPRODUCED
