"""The recording carries the five stories; it is read as any snapshot is."""

from __future__ import annotations

from collections import Counter
from importlib import resources
from typing import Any

import pytest

from karptui.karpenter.labels import DO_NOT_DISRUPT, NODEPOOL
from karptui.kube.quantity import parse_quantity
from karptui.kube.resources import memory_bytes
from karptui.pending.causes import zones_of_volumes
from karptui.sources.demo.source import FILE, load
from karptui.sources.snapshot.reader import Snapshot, SnapshotReader
from karptui.state.cluster import ClusterState
from tests.builders import NOW_NS
from tests.builders.clusters import state_of

MIB = 1 << 20


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    path = resources.files("karptui.sources.demo").joinpath(FILE)
    return SnapshotReader().read([str(path)], strict=True)


@pytest.fixture(scope="module")
def state(snapshot: Snapshot) -> ClusterState:
    return state_of(snapshot.inventory)


def test_is_a_believable_cluster(snapshot: Snapshot, state: ClusterState) -> None:
    assert not snapshot.problems
    assert not snapshot.unknown_kinds
    assert len(state.nodes) == 64
    assert 850 <= len(state.pods) <= 1000
    assert len(state.nodepools) == 7
    assert len(state.events) >= 30
    pools = Counter(node.labels.get(NODEPOOL, "") for node in state.nodes.values())
    assert pools == {"general": 44, "gpu": 2, "runners": 4, "trino": 8, "edge": 4, "": 2}


def test_no_node_holds_more_than_it_has(state: ClusterState) -> None:
    for name, node in state.nodes.items():
        for resource, amount in state.usage(name).requests.items():
            assert amount.nano <= node.allocatable[resource].nano, (name, resource)


def test_claims_are_in_every_stage_of_their_life(state: ClusterState) -> None:
    alone = list(state.claims_without_node())
    assert {claim.is_true("Launched") for claim in alone} == {True, False}
    assert [one.reason for claim in alone for one in claim.conditions if one.message] == ["RequestLimitExceeded"]
    assert any(not claim.is_true("Initialized") for claim in state.nodeclaims.values() if state.node_of(claim.name))
    assert sum(claim.is_deleting for claim in state.nodeclaims.values()) == 2
    assert any(claim.is_true("Drifted") for claim in state.nodeclaims.values())
    assert len(state.links.claim_of_node) == 62


def test_claims_without_a_node_ask_nothing_of_which_no_pod_is_recorded(state: ClusterState) -> None:
    on_their_way = [claim for claim in state.nodeclaims.values() if not claim.node_name]
    assert [bool(claim.requests) for claim in on_their_way] == [False, False, True]
    following = [pod for pod in state.pending_pods.values() if pod.namespace == "media"]
    assert on_their_way[-1].requests["cpu"].millis == 490 + sum(pod.requests["cpu"].millis for pod in following)


class TestStories:
    def test_a_weights_are_an_order_with_a_tie_and_one_that_decides(self, state: ClusterState) -> None:
        weights = {name: pool.weight for name, pool in state.nodepools.items()}
        of_old = {"runners": 100, "general": 50, "spare": 50, "trino": 0, "edge": 45}
        assert weights == {**of_old, "overflow": 49, "gpu": 20}

    def test_b_a_literal_star_stands_for_no_family(self, state: ClusterState) -> None:
        spare = {one.key: one.values for one in state.nodepools["spare"].requirements}
        general = {one.key: one.values for one in state.nodepools["general"].requirements}
        assert spare["karpenter.k8s.aws/instance-family"] == ("*",)
        assert "m7i-flex" in general["karpenter.k8s.aws/instance-family"]

    def test_c_eleven_daemonsets_on_small_types_and_max_pods_where_karpenter_does_not_look(
        self, state: ClusterState
    ) -> None:
        def daemons(pool: str) -> set[int]:
            return {
                state.usage(name).daemonset_pods
                for name, node in state.nodes.items()
                if node.labels.get(NODEPOOL) == pool
            }

        assert (daemons("edge"), daemons("general"), daemons("trino")) == ({11}, {9}, {3})
        spec = state.nodeclasses["EC2NodeClass/edge"].spec
        assert "maxPods: 110" in spec["userData"]
        assert "kubelet" not in spec
        sizes = {one.key: one.values for one in state.nodepools["edge"].requirements}
        assert "medium" in sizes["karpenter.k8s.aws/instance-size"]

    def test_d_a_worker_of_240_gi_waits_beside_nodes_that_say_256_gi(self, state: ClusterState) -> None:
        waiting = [pod for pod in state.pending_pods.values() if pod.namespace == "trino"]
        assert len(waiting) == 3
        assert {memory_bytes(pod.requests) for pod in waiting} == {240 << 30}
        nodes = [name for name, node in state.nodes.items() if node.labels.get(NODEPOOL) == "trino"]
        assert {memory_bytes(state.usage(name).daemonset) // MIB for name in nodes} == {640}
        assert {memory_bytes(state.nodes[name].capacity) // MIB for name in nodes} == {252_870}
        claims = [claim for name in nodes if (claim := state.claim_of(name))]
        assert {memory_bytes(claim.allocatable) // MIB for claim in claims} == {239_554}
        assert all(claim.is_true("Drifted") for claim in claims)

    def test_e_protected_runners_keep_landing(self, state: ClusterState) -> None:
        protected = [pod for pod in state.pods.values() if DO_NOT_DISRUPT in pod.annotations]
        recent = Counter(pod.node_name for pod in protected if pod.created_ns > NOW_NS - 3600 * 10**9)
        assert max(recent.values()) == 4
        assert state.nodepools["runners"].termination_grace_period_ns == 24 * 3600 * 10**9
        assert state.nodepools["general"].termination_grace_period_ns is None

    def test_both_schedulers_have_spoken_of_what_waits(self, state: ClusterState) -> None:
        for key, pod in state.pending_pods.items():
            assert pod.scheduled_message.startswith("0/64 nodes are available: "), key
            said = [
                one for one in state.events.values() if one.involved_kind == "Pod" and one.involved_name == pod.name
            ]
            assert said, key


def test_daemonsets_come_to_the_figures_of_the_docs(state: ClusterState) -> None:
    everywhere = next(
        state.usage(name).daemonset for name, node in state.nodes.items() if node.labels.get(NODEPOOL) == "runners"
    )
    assert everywhere["cpu"].millis == 490
    assert everywhere["memory"].units == parse_quantity("938Mi").units


def test_the_recording_is_moved_to_the_present() -> None:
    later = 7 * 86_400 * 10**9
    first, second = load(NOW_NS), load(NOW_NS + later)

    def created(objects: list[dict[str, Any]]) -> list[str]:
        return [one["metadata"]["creationTimestamp"] for one in objects]

    assert first[0]["metadata"]["creationTimestamp"] < second[0]["metadata"]["creationTimestamp"]
    assert max(created(first)) <= "2026-11-20T12:00:00Z"
    assert "2026-11-27T11:" in max(created(second))


class TestTroubles:
    def test_a_node_has_no_device_and_a_pod_is_nominated_for_it(self, state: ClusterState) -> None:
        claim = next(one for one in state.nodeclaims.values() if "not registered" in str(one.conditions))
        node = state.node_of(claim.name)
        assert node is not None
        assert claim.allocatable["nvidia.com/gpu"].units == 1
        assert "nvidia.com/gpu" not in node.allocatable
        nominated = [one for one in state.events.values() if one.reason == "Nominated" and claim.name in one.message]
        (event,) = nominated
        assert event.involved_name in {pod.name for pod in state.pending_pods.values()}
        assert "Insufficient nvidia.com/gpu" in state.pods[f"ml/{event.involved_name}"].scheduled_message

    def test_what_ec2_has_no_machine_for_is_tried_again_and_again(self, state: ClusterState) -> None:
        refused = [one for one in state.events.values() if one.reason == "InsufficientCapacityError"]
        assert Counter(one.involved_kind for one in refused) == {"NodeClaim": 4, "Pod": 4}
        assert not {one.involved_name for one in refused} & set(state.nodeclaims)

    def test_two_volumes_of_one_pod_are_in_two_zones(self, state: ClusterState) -> None:
        torn = [one for one in state.pending_pods.values() if one.namespace == "db"]
        assert len(torn) == 2
        for pod in torn:
            assert zones_of_volumes(pod, state) == [
                ("PVC db/orders-2024", frozenset({"us-east-1a"})),
                ("PVC db/orders-2025", frozenset({"us-east-1b"})),
            ]

    def test_nodes_have_gone_round_in_circles(self, state: ClusterState) -> None:
        said = Counter(one.reason for one in state.events.values())
        assert (said["DisruptionLaunching"], said["DisruptionTerminating"], said["Evicted"]) == (6, 5, 15)
