from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.disruption.codes import Blocker, Code
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.settings import Settings
from karptui.kube.pod import Pod
from karptui.whatif.remedies.blockers.preemption import preemptions
from karptui.whatif.remedies.blockers.protected_pods import preemption_remedy
from karptui.whatif.remedies.blockers.trial import try_remedies
from karptui.whatif.situation import TypesResult, WhatIfBase
from tests.builders import HOUR_NS, MINUTE_NS, NOW_NS, a_node, a_nodeclaim, a_nodepool, a_pod, an_instance_type

TYPES = TypesResult((an_instance_type(name="m5.xlarge", cpu="4", memory="16Gi"),), is_fixed=True)
NODES = ("one", "two")


def running(name: str, node: str, cpu: str, **given: Any) -> Pod:
    """Return a protected pod that has run for an hour by default."""
    age_ns = given.pop("age_ns", HOUR_NS)
    return replace(a_pod(name=name, node=node, cpu=cpu, **given), start_ns=NOW_NS - age_ns)


def a_base(*pods: Pod) -> WhatIfBase:
    """Return two nodes of 4 cores with running pods, and pending pods."""
    shape: dict[str, Any] = {"instance_type": "m5.xlarge", "cpu": "4", "memory": "15Gi"}
    held = Inventory(
        nodepools=(a_nodepool(name="general"),),
        nodes=tuple(a_node(name=name, **shape) for name in NODES),
        nodeclaims=tuple(a_nodeclaim(name=f"c-{name}", node=name, instance_type="m5.xlarge") for name in NODES),
        pods=pods,
    )
    return WhatIfBase(held, lambda *_: TYPES, Settings(), NOW_NS)


def outcome(base: WhatIfBase, priority: int = -1000) -> list[tuple[str, str, list[str]]]:
    """Return each preempting pod with its node and victims, if all job pods have this priority."""
    jobs = frozenset(pod.key for pod in base.inventory.pods if pod.name.startswith("job"))
    return [
        (item.pod_key, item.node_name, [pod.name for pod in item.victims]) for item in preemptions(base, jobs, priority)
    ]


def test_the_fewest_and_youngest_pods_are_preempted() -> None:
    base = a_base(
        running("job-a", "one", "1500m", age_ns=3 * HOUR_NS),
        running("job-b", "one", "1500m", age_ns=10 * MINUTE_NS),
        running("job-c", "two", "800m"),
        running("job-d", "two", "800m"),
        running("web", "two", "2"),
        a_pod(name="waits", cpu="2"),
    )
    assert outcome(base) == [("default/waits", "one", ["job-b"])]


def test_each_preemption_considers_the_earlier_ones() -> None:
    base = a_base(
        running("job-a", "one", "1500m", age_ns=3 * HOUR_NS),
        running("job-b", "one", "1500m", age_ns=10 * MINUTE_NS),
        running("web", "two", "3500m"),
        a_pod(name="first", cpu="2", priority=10),
        a_pod(name="second", cpu="1500m", created_ns=NOW_NS - HOUR_NS),
        a_pod(name="third", cpu="1", created_ns=NOW_NS - MINUTE_NS),
    )
    assert outcome(base) == [("default/first", "one", ["job-b"]), ("default/second", "one", ["job-a"])], (
        "the third pod is still unschedulable"
    )


@pytest.mark.parametrize(("waiting", "priority"), [
    ({"cpu": "500m"}, -1000),
    ({"cpu": "2", "node_selector": {"gpu": "yes"}}, -1000),
    ({"cpu": "4500m"}, -1000),
    ({"cpu": "2", "priority": -1000}, -1000),
    ({"cpu": "2"}, 0),
], ids=["has room", "asks for another node", "too large", "not higher", "not lowered"])  # fmt: skip
def test_no_pod_is_preempted_without_need_or_effect(waiting: dict[str, Any], priority: int) -> None:
    base = a_base(running("job-a", "one", "3"), running("web", "two", "3"), a_pod(name="waits", **waiting))
    assert outcome(base, priority) == []


def test_the_trial_of_a_lower_priority_counts_preempting_pods() -> None:
    job = running("job-a", "one", "3")
    base = a_base(job, running("web", "two", "3"), a_pod(name="waits", cpu="2"))
    blocker = Blocker(
        code=Code.POD_DND, claim_name="c-one", object_kind="Pod", object_key=job.key, is_wanted=True, value="true"
    )
    (trial,) = try_remedies(base, [preemption_remedy([job])], [blocker])
    assert (trial.preempting, trial.cut, trial.freed) == (1, 1, ())
    assert trial.why == (
        "Frees no node; 1 waiting pod would preempt them and end 1 of them after 60m of work (approximated); any pod "
        "of higher priority may preempt them later."
    )
