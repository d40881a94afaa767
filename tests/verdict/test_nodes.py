"""Nodes that flap, that a monitor reports, or that were emptied before they went down."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from karptui.kube.objects import Event
from karptui.verdict.case import PendingLine, VerdictCase, VerdictNode
from karptui.verdict.finding import FindingSeverity
from karptui.verdict.nodes import node_findings
from karptui.verdict.pending_pods import PendingPods
from karptui.views.verdict.sentence import sentence
from tests.builders import HOUR_NS, MINUTE_NS, NOW_NS, SECOND_NS, a_condition, a_node, a_nodeclaim, amounts, an_event


def texts(*lines: VerdictNode, events: tuple[Event, ...] = ()) -> list[tuple[FindingSeverity, str]]:
    case = VerdictCase(now_ns=NOW_NS, nodes=lines, events=events)
    return [(f.severity, sentence(f, NOW_NS, {})) for f in node_findings(case, PendingPods(()))]


def not_ready(times: int, *, last: int = 5, source: str = "kubelet", reason: str = "NodeNotReady") -> Event:
    first_ns, last_ns = NOW_NS - 50 * MINUTE_NS, NOW_NS - last * MINUTE_NS
    return an_event(name=f"n1.{source}.{last}", about="Node/n1", reason=reason, source=source, count=times,
                    first_ns=first_ns, last_ns=last_ns)  # fmt: skip


@pytest.mark.parametrize(("events", "is_told"), [
    ((not_ready(4),), True),
    (tuple(not_ready(1, last=minutes) for minutes in (5, 15, 25)), True),
    ((not_ready(2), not_ready(2, source="node-controller")), False),
    ((not_ready(9, last=40),), False),
])  # fmt: skip
def test_a_node_that_was_not_ready_three_times_and_lately_flaps(events: tuple[Event, ...], *, is_told: bool) -> None:
    line = VerdictNode("n1", "general", None, has_node=True, node=a_node(name="n1"))
    assert bool(texts(line, events=events)) is is_told
    assert not texts(replace(line, name="n2"), events=events)


def test_nodes_that_are_not_ready_for_different_reasons_are_separate_findings() -> None:
    def line(name: str, reason: str, message: str) -> VerdictNode:
        ready = a_condition("Ready", status="Unknown", reason=reason, message=message)
        node = a_node(name=name, conditions=(ready,))
        return VerdictNode(name, "general", None, has_node=True, node=node, not_ready_ns=NOW_NS - HOUR_NS)

    silent = [line(f"n{number}", "NodeStatusUnknown", "silent") for number in (1, 2)]
    broken = line("n3", "KubeletNotReady", "container runtime is down")
    fine = VerdictNode("n4", "general", None, has_node=True, node=a_node(name="n4"))
    assert [text for _, text in texts(*silent, broken, fine, events=(not_ready(1, reason="SystemOOM"),))] == [
        "node n1 has not been ready for 60m (silent); its memory ran out before (SystemOOM)",
        "node n2 has not been ready for 60m (silent)",
        "node n3 has not been ready for 60m (the container runtime does not answer)",
    ]


@pytest.mark.parametrize(("ready_too", "is_named"), [(0, True), (3, True), (4, False)])
def test_the_common_property_of_unready_nodes_is_named_unless_most_nodes_with_it_are_ready(
    ready_too: int, *, is_named: bool
) -> None:
    def line(name: str, image: str, not_ready_ns: int | None = None) -> VerdictNode:
        node = replace(a_node(name=name), os_image=image)
        claim = a_nodeclaim(node=name)
        return VerdictNode(name, "general", claim, has_node=True, node=node, not_ready_ns=not_ready_ns)

    silent = [line(f"n{number}", "Bottlerocket 1.30", NOW_NS - HOUR_NS) for number in range(3)]
    alike = [line(f"a{number}", "Bottlerocket 1.30") for number in range(ready_too)]
    others = [line(f"o{number}", "Bottlerocket 1.29") for number in range(12)]
    assert ("all of them are nodes with Bottlerocket 1.30" in str(texts(*silent, *alike, *others))) is is_named


def test_a_pdb_is_named_only_for_the_cordoned_nodes_that_it_blocks() -> None:
    lines = [
        VerdictNode(f"n{n}", "", None, has_node=True, node=a_node(name=f"n{n}"), is_cordoned=n < 3) for n in range(4)
    ]
    lines[2] = replace(lines[2], closed_pdbs=("auth/vault",))
    assert [text.partition(": they")[0].partition(": it")[0] for _, text in texts(*lines)] == [
        "2 nodes (n0, n1) are cordoned",
        "1 node (n2) is cordoned",
    ]
    assert "auth/vault" in texts(*lines)[1][1]


def test_nodes_are_attributed_to_a_nodepool_only_if_all_are_its() -> None:
    nodes = [replace(a_node(name=f"n{minor}"), kubelet_version=f"v1.{minor}.1") for minor in (30, 31, 35)]
    lines = [
        VerdictNode(node.name, pool, None, has_node=True, node=node)
        for node, pool in zip(nodes, ("", "a", "a"), strict=True)
    ]
    assert texts(*lines)[0][1].startswith("2 nodes (n30, n31) run kubelet 1.30 and 1.31")


@pytest.mark.parametrize(
    ("minutes", "is_told"), [((2, 22, 42), True), ((2, 22), False), ((35, 45, 55), False), ((2, 22, 62), False)]
)
def test_a_node_that_rebooted_three_times_within_an_hour_is_reported(
    minutes: tuple[int, ...], *, is_told: bool
) -> None:
    line = VerdictNode("n1", "general", None, has_node=True, node=a_node(name="n1"))
    reboots = tuple(not_ready(1, last=last, reason="Rebooted") for last in minutes)
    result = texts(line, events=(*reboots, not_ready(3)))
    text = f"node n1 of general {'rebooted' if is_told else 'was not ready'} 3 times"
    assert [told.startswith(text) for _, told in result] == [True]


@pytest.mark.parametrize(("type_", "status", "is_told"), [
    ("ReadonlyFilesystem", "True", True),
    ("FilesystemCorruptionProblem", "True", True),
    ("KernelDeadlock", "False", False),
    ("EtcdIsVoter", "True", False),
])  # fmt: skip
def test_a_true_condition_of_a_node_problem_detector_is_reported(type_: str, status: str, *, is_told: bool) -> None:
    node = a_node(name="n1", conditions=(a_condition("Ready"), a_condition(type_, status=status, message="broken")))
    result = texts(VerdictNode("n1", "general", a_nodeclaim(node="n1"), has_node=True, node=node))
    repairs = "Karpenter repairs no node for this condition"
    expected = f"1 node of general (n1) has had {type_}=True for 60m (broken); {repairs}"
    assert result == ([(FindingSeverity.WARNING, expected)] if is_told else [])


@pytest.mark.parametrize(("pods", "seconds", "is_quiet"), [(0, 50, True), (2, 50, False), (0, 700, False)])
def test_a_cordoned_and_emptied_node_may_be_down_for_a_while(pods: int, seconds: int, *, is_quiet: bool) -> None:
    since = NOW_NS - seconds * SECOND_NS
    node = replace(a_node(name="n1", is_unschedulable=True), cordoned_ns=NOW_NS - HOUR_NS // 2)
    line = VerdictNode("n1", "general", a_nodeclaim(node="n1"), has_node=True, node=node, not_ready_ns=since)
    severity, text = texts(replace(line, is_cordoned=True, pods=pods))[0]
    assert (severity is FindingSeverity.INFO) is is_quiet
    assert ("as for a reboot" in text) is is_quiet


@pytest.mark.parametrize(
    ("allocatable", "asked", "severity"),
    [("0", True, FindingSeverity.WARNING), ("0", False, FindingSeverity.INFO), ("1", True, None)],
)
def test_devices_that_are_not_allocatable_are_reported(
    allocatable: str, asked: bool, severity: FindingSeverity | None
) -> None:
    gpus = [amounts({"example.com/gpu": amount}) for amount in ("1", allocatable)]
    node = replace(a_node(name="n1"), capacity=gpus[0], allocatable=gpus[1])
    line = VerdictNode("n1", "gpu", None, has_node=True, node=node)
    pending = [PendingLine("ml/infer", ("ml/infer-1",), NOW_NS, requests=gpus[0])] if asked else []
    case = VerdictCase(now_ns=NOW_NS, nodes=[line], pending=pending)
    offers = "1 node of gpu (n1) offers 0 of 1 example.com/gpu"
    expected = f"{offers}: the device plugin reports the others as unhealthy, or does not run"
    result = [(f.severity, sentence(f, NOW_NS, {})) for f in node_findings(case, PendingPods(pending))]
    assert result == ([(severity, expected)] if severity else [])


def about_node(node: int, reason: str) -> Event:
    last_ns = NOW_NS - (5 + node) * MINUTE_NS
    return an_event(
        name=f"{reason}{node}", about=f"Node/gone-{node}", reason=reason, source="controller", last_ns=last_ns
    )


@pytest.mark.parametrize(("nodes", "others", "capacity_type", "is_managed", "is_told"), [
    (3, (), "spot", True, True),
    (2, (), "spot", True, False),
    (3, (about_node(0, "FailedDraining"),), "spot", True, False),
    (3, (about_node(0, "NodeNotSchedulable"),), "spot", True, False),
    (3, (about_node(9, "SpotInterrupted"),), "spot", True, False),
    (3, (an_event(about="Pod/shop/web", reason="Evicted", source="karpenter"),), "spot", True, False),
    (3, (an_event(about="Pod/shop/web", reason="Evicted", source="kubelet"),), "spot", True, True),
    (3, (), "on-demand", True, False),
    (3, (), "spot", False, False),
])  # fmt: skip
def test_spot_nodes_that_disappear_without_a_drain_are_reported(
    nodes: int, others: tuple[Event, ...], capacity_type: str, is_managed: bool, is_told: bool
) -> None:
    claim = a_nodeclaim(node="n1") if is_managed else None
    line = VerdictNode("n1", "burst", claim, has_node=True, node=a_node(name="n1"), capacity_type=capacity_type)
    result = texts(line, events=(*(about_node(number, "DeletingNode") for number in range(nodes)), *others))
    expected = (
        "3 nodes disappeared in the last 7m without a drain: their instances no longer exist, and Karpenter reported "
        "no interruption; its 1 spot node needs a working interruption queue (INTERRUPTION_QUEUE)"
    )
    assert [text for _, text in result] == ([expected] if is_told else [])


@pytest.mark.parametrize(("last", "is_told"), [(20, True), (61, False)])
def test_a_silent_node_whose_memory_ran_out_before_says_so(last: int, *, is_told: bool) -> None:
    line = VerdictNode("n1", "lab", None, has_node=True, node=a_node(name="n1"), not_ready_ns=NOW_NS - 14 * MINUTE_NS)
    event = not_ready(1, last=last, reason="SystemOOM")
    more = "; its memory ran out before (SystemOOM)" if is_told else ""
    assert [text for _, text in texts(line, events=(event,))] == [f"node n1 has not been ready for 14m{more}"]


def full_disk(count: int = 11, *, last: int = 3, share: str = "91.3%", about: str = "n1") -> Event:
    message = f"Insufficient free disk space on the node's image filesystem ({share} of 20.0 GiB used)."
    event = an_event(
        about=f"Node/{about}", reason="FreeDiskSpaceFailed", message=message, source="kubelet", count=count
    )
    return replace(event, first_ns=NOW_NS - 54 * MINUTE_NS, last_ns=NOW_NS - last * MINUTE_NS)


@pytest.mark.parametrize(("event", "pressure", "is_told"), [
    (full_disk(), "False", True),
    (full_disk(2), "False", False),
    (full_disk(last=20), "False", False),
    (full_disk(), "True", False),
])  # fmt: skip
def test_a_disk_that_fills_up_is_reported_before_disk_pressure(event: Event, pressure: str, *, is_told: bool) -> None:
    node = a_node(name="n1", conditions=(a_condition("DiskPressure", status=pressure),))
    result = [text for _, text in texts(VerdictNode("n1", "ci", None, has_node=True, node=node), events=(event,))]
    expected = "node of ci (n1) is running out of disk space (54m): the kubelet finds no unused images to delete"
    assert [text for text in result if "running out" in text] == (
        [f"1 {expected} (91.3% of the disk used)"] if is_told else []
    )


def test_the_used_share_of_disks_is_shown_only_if_it_is_the_same() -> None:
    lines = [VerdictNode(name, "ci", None, has_node=True, node=a_node(name=name)) for name in ("n1", "n2")]
    [(_, text)] = texts(*lines, events=(full_disk(), full_disk(share="95%", about="n2")))
    assert text.endswith("(54m): the kubelets find no unused images to delete")
