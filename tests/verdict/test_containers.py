"""Pods whose containers crash, are not pulled or run on, and what their nodes have in common."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from karptui.kube.taints import Taint, Toleration
from karptui.verdict.case import OutlivedPod, StartingPod, VerdictCase, VerdictNode
from karptui.verdict.containers import (
    outlived_findings,
    rejected_findings,
    unended_findings,
    unready_findings,
    waiting_findings,
)
from karptui.verdict.crashing import crashing_findings, relapsing_findings
from karptui.verdict.finding import ClusterFinding
from karptui.verdict.starting import starting_findings
from karptui.verdict.verdict import verdict_of
from karptui.views.verdict.sentence import sentence
from tests.builders import HOUR_NS, MINUTE_NS, NOW_NS, a_daemonset, a_node, a_nodeclaim, an_event

FAMILY = "karpenter.k8s.aws/instance-family"


def a_line(name: str, *, zone: str = "a", family: str = "m6i", pool: str = "general") -> VerdictNode:
    node = a_node(name=name, labels={FAMILY: family})
    return VerdictNode(name, pool, None, has_node=True, zone=zone, node=node)


def told(find: Callable[[VerdictCase], Iterable[ClusterFinding]], **given: Any) -> list[str]:
    return [sentence(finding, NOW_NS, {}) for finding in find(VerdictCase(now_ns=NOW_NS, **given))]


def crashing(nodes: Sequence[str], *, exit_code: int = 0) -> list[StartingPod]:
    return [
        StartingPod(
            f"ml/embed-{number}",
            node,
            NOW_NS - HOUR_NS,
            "CrashLoopBackOff",
            owner="Deployment/ml/embed",
            controller="uid",
            exit_code=exit_code,
        )
        for number, node in enumerate(nodes)
    ]


def crash_text(lines: Sequence[VerdictNode], pods: Sequence[StartingPod], running: Collection[str]) -> str:
    return " / ".join(
        told(crashing_findings, nodes=lines, crashing=pods, running_on={"uid": dict.fromkeys(running, NOW_NS)})
    )


@pytest.mark.parametrize(("differs", "result"), [
    ({"family": "m6a"}, "on m6a nodes and run on m6i nodes"),
    ({"zone": "c"}, "on nodes in c and run on nodes in a"),
    ({"pool": "burst"}, "on nodes of NodePool burst and run on nodes of NodePool general"),
    ({}, "3 pods ml/embed-{0,1,2} on 3 nodes crash again and again"),
])  # fmt: skip
def test_a_property_that_only_nodes_with_crashing_pods_share_is_named(differs: dict[str, Any], result: str) -> None:
    lines = [*(a_line(f"bad-{n}", **differs) for n in range(3)), *(a_line(f"good-{n}") for n in range(2))]
    text = crash_text(lines, crashing(["bad-0", "bad-1", "bad-2"], exit_code=132), ["good-0", "good-1"])
    assert result in text
    assert "exit code 132: illegal instruction" in text


@pytest.mark.parametrize(("age_ns", "started_ns", "is_told"), [
    (3 * HOUR_NS, 2 * HOUR_NS, True),
    (HOUR_NS, 2 * HOUR_NS, False),
    (3 * HOUR_NS, MINUTE_NS, False),
])  # fmt: skip
def test_crashing_pods_are_called_newer_only_if_their_nodes_are_older(
    age_ns: int, started_ns: int, *, is_told: bool
) -> None:
    old = a_node(labels={FAMILY: "m6a"}, created_ns=NOW_NS - age_ns)
    lines = [*(replace(a_line(f"bad-{n}"), node=old) for n in range(3)), *(a_line(f"good-{n}") for n in range(2))]
    runs = {"uid": dict.fromkeys(("good-0", "good-1"), NOW_NS - started_ns)}
    crashes = crashing(["bad-0", "bad-1", "bad-2"])
    [text] = told(crashing_findings, nodes=lines, crashing=crashes, running_on=runs)
    assert text.endswith("they are also newer, so a change since may be the cause") is is_told


def test_nodes_without_a_label_have_the_family_of_their_instance_type() -> None:
    good = [replace(a_line(f"good-{n}"), node=None, instance_type="m6i.large") for n in range(2)]
    lines = [*(a_line(f"bad-{n}") for n in range(3)), *good]
    text = crash_text(lines, crashing(["bad-0", "bad-1", "bad-2"]), ["good-0", "good-1"])
    assert text == "3 pods ml/embed-{0,1,2} on 3 nodes crash again and again"


def test_three_pods_that_crash_on_one_node_name_it_unless_others_run_there() -> None:
    lines = [a_line(name) for name in ("n1", "n2", "n3")]
    text = crash_text(lines, crashing(["n1", "n1", "n1"]), ["n2", "n3"])
    assert text == "3 pods ml/embed-{0,1,2} crash again and again on node n1 and run on other nodes"
    for nodes, running in ((["n1", "n1", "n1"], ["n1", "n2", "n3"]), (["n1", "n1"], ["n2", "n3"])):
        assert crash_text(lines, crashing(nodes), running).endswith("on 1 node crash again and again")


@pytest.mark.parametrize(
    ("elsewhere", "differs", "together"), [(0, 0, True), (1, 0, True), (2, 0, False), (0, 1, False)]
)
def test_a_property_of_most_crashing_workloads_is_named_once(elsewhere: int, differs: int, together: bool) -> None:
    lines = [*(a_line(f"bad-{n}", zone="c") for n in range(3)), *(a_line(f"good-{n}") for n in range(4))]
    pairs = [*[("bad-0", "bad-1"), ("bad-1", "bad-2"), ("bad-2", "bad-0")], *[("good-0", "good-1")] * elsewhere]
    crashes = [
        replace(pod, owner=f"Deployment/ml/w{n}", controller=f"uid-{n}", exit_code=1 + n * differs)
        for n, pair in enumerate(pairs)
        for pod in crashing(pair)
    ]
    running = {pod.controller: {"good-2": NOW_NS, "good-3": NOW_NS} for pod in crashes}
    texts = told(crashing_findings, nodes=lines, crashing=crashes, running_on=running)
    assert any("on nodes in c and run on nodes in a" in text for text in texts) is together
    assert len(texts) == (3 if differs else 1 + (together and bool(elsewhere)))


@pytest.mark.parametrize(("unready", "text"), [
    ((27, 27), "(exit code 1), not ready for 27m, no other runs"),
    ((27, 20), "(exit code 1), not ready for 20m, no other runs"),
    ((27, 10), "(exit code 1), no other runs"),
    ((27, 1), "(exit code 1), no other runs"),
    ((27, None), "(exit code 1), no other runs"),
])  # fmt: skip
def test_crashing_pods_get_the_time_without_readiness_if_it_is_alike_and_spans_a_crash(
    unready: Sequence[int | None], text: str
) -> None:
    crashes = [
        replace(pod, unready_ns=NOW_NS - minutes * MINUTE_NS if minutes else 0, exited_ns=NOW_NS - 2 * MINUTE_NS)
        for pod, minutes in zip(crashing(["n1", "n1"], exit_code=1), unready, strict=True)
    ]
    assert crash_text([a_line("n1")], crashes, ()).endswith(f"again and again {text}")


def test_pods_that_crash_only_on_some_nodes_get_the_time_without_readiness() -> None:
    since = {"unready_ns": NOW_NS - 27 * MINUTE_NS, "exited_ns": NOW_NS - MINUTE_NS}
    crashes = [replace(pod, **since) for pod in crashing(["n1", "n1", "n1"])]
    assert crash_text([a_line(name) for name in ("n1", "n2", "n3")], crashes, ["n2", "n3"]) == (
        "3 pods ml/embed-{0,1,2} crash again and again on node n1, not ready for 27m, and run on other nodes"
    )


@pytest.mark.parametrize(("pods", "minutes", "text"), [
    (2, 15, "2 pods ml/embed-{0,1} on 1 node crash again and again (OOMKilled), no other runs"),
    (1, 15, "pod ml/embed-0 crashes again and again (OOMKilled)"),
    (2, 14, ""),
    (1, 14, ""),
])  # fmt: skip
def test_pods_that_crash_for_long_are_a_warning_and_a_single_one_is_a_note(pods: int, minutes: int, text: str) -> None:
    since = NOW_NS - minutes * MINUTE_NS
    crashes = [replace(pod, since_ns=since, exit_reason="OOMKilled") for pod in crashing(["n1"] * pods)]
    assert crash_text([a_line("n1")], crashes, ()) == text
    findings = [*crashing_findings(VerdictCase(now_ns=NOW_NS, nodes=[a_line("n1")], crashing=crashes))]
    assert [finding.severity for finding in findings] == (["error" if pods > 1 else "info"] if text else [])


def test_an_init_container_that_crashes_is_named() -> None:
    crashes = [replace(pod, init_container="istio-validation") for pod in crashing(["n1", "n1"], exit_code=126)]
    assert crash_text([a_line("n1")], crashes, ()) == (
        "2 pods ml/embed-{0,1} on 1 node have not started for 60m: their init container istio-validation crashes "
        "(exit code 126)"
    )


def test_a_daemonset_that_crashes_on_some_nodes_ranks_above_a_workload_without_a_running_pod() -> None:
    agents = [
        replace(pod, key=f"logs/agent-{n}", owner="DaemonSet/logs/agent", controller="agents")
        for n, pod in enumerate(crashing([f"n{n}" for n in range(3)]))
    ]
    lines = [a_line(f"n{n}") for n in range(5)]
    crashes = [*crashing(["n0", "n1"]), *agents]
    assert told(verdict_of, nodes=lines, crashing=crashes, running_on={"agents": {"n3": NOW_NS, "n4": NOW_NS}})[:2] == [
        "3 pods logs/agent-{0,1,2} on 3 of 5 nodes crash again and again",
        "2 pods ml/embed-{0,1} on 2 nodes crash again and again, no other runs",
    ]


def test_of_workloads_without_a_running_pod_kube_system_ranks_first_then_the_larger() -> None:
    owners = {"a/web": 2, "b/api": 3, "kube-system/dns": 2}
    crashes = [
        replace(pod, key=f"{owner}-{n}", owner=f"Deployment/{owner}", controller=owner)
        for owner, count in owners.items()
        for n, pod in enumerate(crashing(["n0"] * count))
    ]
    case = VerdictCase(now_ns=NOW_NS, nodes=[a_line("n0")], crashing=crashes)
    names = [f.names[1].rpartition("-")[0] for f in verdict_of(case) if f.severity == "error"]
    assert names == ["kube-system/dns", "b/api", "a/web"]


@pytest.mark.parametrize(("about", "is_told"), [("node-1", False), ("node-2", True)])
def test_pods_on_nodes_without_memory_are_left_to_the_finding_about_these(about: str, *, is_told: bool) -> None:
    event = an_event(about=f"Node/{about}", reason="SystemOOM", message="victim process: java", source="kubelet")
    pods = [replace(pod, restarts=30, exited_ns=NOW_NS, waiting_reason="") for pod in crashing(["node-1"] * 2)]
    assert bool(told(relapsing_findings, relapsing=pods, events=[event])) is is_told


def late(count: int, minutes: int, reason: str = "") -> list[StartingPod]:
    since = NOW_NS - minutes * MINUTE_NS
    return [StartingPod(f"db/pg-{n}", "n1", since, reason, owner="StatefulSet/db/pg") for n in range(count)]


@pytest.mark.parametrize(("count", "minutes", "is_told"), [(2, 15, True), (1, 60, False), (2, 14, False)])
def test_pods_with_a_false_readiness_gate_are_reported(count: int, minutes: int, *, is_told: bool) -> None:
    expected = (
        "2 pods db/pg-{0,1} on node n1 have not been ready for 15m: their containers run, but their readiness gate "
        "lb.example/web is not true"
    )
    assert told(waiting_findings, gated=late(count, minutes, "lb.example/web")) == ([expected] if is_told else [])


@pytest.mark.parametrize("is_killed", [True, False])
def test_a_pod_that_does_not_end_on_a_ready_node_is_reported(*, is_killed: bool) -> None:
    text = 'error killing pod: failed with KillContainerError: "rpc error: code = DeadlineExceeded desc = no"'
    event = an_event(about="Pod/db/pg-0", reason="FailedKillPod", message=text, source="kubelet")
    why = ": the kubelet cannot kill its containers (DeadlineExceeded)" if is_killed else ""
    end = "; its StatefulSet starts no successor until it is gone"
    expected = f"db/pg-0 on node n1 has been terminating for 10m{why}{end}"
    events = [event] if is_killed else []
    assert told(unended_findings, nodes=[a_line("n1")], unended=late(1, 10), events=events) == [expected]


@pytest.mark.parametrize(("node", "where"), [("n1", " on node n1"), ("n2", "")])
def test_the_finalizers_of_pods_that_do_not_end_are_named(node: str, where: str) -> None:
    unended = [replace(pod, owner="Deployment/db/pg", finalizers=("example.com/drain",)) for pod in late(2, 10)]
    expected = f"2 pods db/pg-{{0,1}}{where} have been terminating for 10m: the finalizer example.com/drain keeps them"
    assert told(unended_findings, nodes=[a_line(node)], unended=unended) == [expected]


@pytest.mark.parametrize(("reason", "message", "text"), [
    ("Failed", 'Error: failed to create containerd task: unable to start container process: exec: "/app": not found',
     '2 pods ml/embed-{0,1} on 1 node crash again and again (exit code 128), no other runs: exec: "/app": not found'),
    ("Killing", "Container app failed liveness probe, will be restarted",
     "the kubelet restarts 2 pods ml/embed-{0,1} on 1 node again and again: Liveness probe failed: timeout"),
    ("Killing", "Stopping container app",
     "2 pods ml/embed-{0,1} on 1 node crash again and again (exit code 128), no other runs"),
])  # fmt: skip
def test_the_kubelets_error_about_a_container_is_quoted(reason: str, message: str, text: str) -> None:
    events = [
        an_event(about="Pod/ml/embed-1", reason=reason, message=message, source="kubelet"),
        *(
            an_event(about="Pod/ml/embed-1", reason="Unhealthy", message=f"{kind} probe failed: timeout")
            for kind in ("Liveness", "Readiness")
        ),
    ]
    crashes = crashing(["n1", "n1"], exit_code=128)
    assert told(crashing_findings, nodes=[a_line("n1")], crashing=crashes, events=events) == [text]


@pytest.mark.parametrize(("line", "minutes"), [
    (a_line("n1"), 9),
    (a_line("n2"), 30),
    (replace(a_line("n1"), not_ready_ns=NOW_NS - MINUTE_NS), 30),
    (replace(a_line("n1"), deleted_ns=NOW_NS - MINUTE_NS), 30),
])  # fmt: skip
def test_pods_that_end_late_are_left_out_on_nodes_with_another_finding(line: VerdictNode, minutes: int) -> None:
    assert not [*unended_findings(VerdictCase(now_ns=NOW_NS, nodes=[line], unended=late(1, minutes)))]


def start_text(errors: dict[str, str], *, zone: str = "a", **given: Any) -> list[str]:
    pods = [
        StartingPod(f"shop/{name}-0", f"n{number}", NOW_NS - HOUR_NS, "ImagePullBackOff", f"{name}:1", message=error)
        for number, (name, error) in enumerate(errors.items())
    ]
    lines = [*(a_line(pod.node, zone=zone) for pod in pods), a_line("other", zone="a")]
    return told(starting_findings, nodes=lines, starting=pods, **given)


PROBED = 'Readiness probe failed: Get "http://10.1.0.{}:80{}/{}": {}'


@pytest.mark.parametrize(("errors", "container", "count"), [
    (("timeout", "timeout", "timeout"), "", 1),
    (("timeout", "timeout", "refused"), "", 3),
    (("timeout", "timeout"), "", 2),
    (("", "", ""), "proxy", 1),
])  # fmt: skip
def test_workloads_without_a_ready_pod_are_one_finding_if_they_fail_alike(
    errors: Sequence[str], container: str, count: int
) -> None:
    pods = [
        replace(pod, key=f"shop/w{n}-{pod.key[-1]}", owner=f"Deployment/shop/w{n}", controller=f"uid-{n}",
                waiting_reason="", unready_container=container)
        for n in range(len(errors))
        for pod in crashing(["n1", "n2"])
    ]  # fmt: skip
    events = [
        an_event(about=f"Pod/{pod.key}", reason="Unhealthy", message=PROBED.format(i, i % 3, f"w{i}", errors[i // 2]))
        for i, pod in enumerate(pods)
        if errors[i // 2]
    ]
    texts = told(unready_findings, nodes=[a_line("n1"), a_line("n2")], unready=pods, events=events)
    assert len(texts) == count
    assert texts[0].startswith(f"none of the {6 if count == 1 else 2} pods shop/w0-{{0,1}}")
    assert texts[0].endswith("has been ready for 60m: container proxy is not") is bool(container)


@pytest.mark.parametrize(("names", "others", "more", "end"), [
    (["web"], "app", {}, "info: container app is still starting up (Startup probe failed: 503)"),
    (["web", "api"], "app", {}, "info: container app is still starting up (Startup probe failed: 503)"),
    (["web", "api", "cart"], "app", {}, "error: container app is not"),
    (["web"], "", {}, "error: container app is not"),
    (["web"], "app", {"reason": "Evicted"}, "error: container app is not; Karpenter evicted"),
])  # fmt: skip
def test_containers_that_start_up_for_the_first_time_are_a_note(
    names: Sequence[str], others: str, more: dict[str, Any], end: str
) -> None:
    pods = [
        replace(pod, key=f"shop/{name}-{number}", controller=name, unready_container="app",
                starting_container="app" if number == 0 else others)
        for name in names
        for number, pod in enumerate(crashing(["n1", "n2"]))
    ]  # fmt: skip
    events = [an_event(about="Pod/shop/web-0", reason="Unhealthy", message="Startup probe failed: 503")]
    if more:
        evicted = an_event(about="Pod/shop/web-9", message="Evicted pod: Drifted", **more)
        events.append(replace(evicted, last_ns=NOW_NS - HOUR_NS))
    case = VerdictCase(now_ns=NOW_NS, nodes=[a_line("n1"), a_line("n2")], unready=pods, events=events)
    finding = next(iter(unready_findings(case)))
    assert end in f"{finding.severity}: {sentence(finding, NOW_NS, {}).partition(': ')[2]}"


@pytest.mark.parametrize(("error", "end"), [
    ("unexpected status from HEAD request to https://reg.example/v2/{}/manifests/1: 503 Service Unavailable",
     "their images cannot be pulled: reg.example: 503 Service Unavailable"),
    ("unexpected status from HEAD request to https://reg.example/v2/{}/manifests/1: 403 Forbidden",
     "their images cannot be pulled: reg.example: 403 Forbidden"),
    ("unexpected status from HEAD request to https://reg.example/v2/{}/manifests/1: 429 Too Many Requests - Server: x",
     "their images cannot be pulled: reg.example: 429 Too Many Requests"),
    ("failed to extract layer of {}: write /var/lib/x: no space left on device: unknown",
     "their images cannot be pulled: no space left on device"),
    ("unexpected status from HEAD request to https://reg.example/v2/{}/manifests/1: 404 Not Found", ""),
    ("failed to resolve reference {}: 404 Not Found", ""),
    ("unexpected status from HEAD request to https://{}.example/v2/x/manifests/1: 503 Service Unavailable", ""),
])  # fmt: skip
def test_images_of_a_registry_that_does_not_answer_are_one_finding(error: str, end: str) -> None:
    texts = start_text({name: error.format(name) for name in ("web", "api", "cart")})
    assert len(texts) == (1 if end else 3)
    assert texts[0].endswith(end)


@pytest.mark.parametrize(("error", "end"), [
    ('Container image "web:1" is not present with pull policy of Never',
     "image web:1 is not on that node, and its pull policy is Never"),
    ("write /var/lib/x: no space left on device: unknown", "image web:1 cannot be pulled: no space left on device"),
])  # fmt: skip
def test_an_image_that_cannot_be_on_its_node_is_not_the_registrys_fault(error: str, end: str) -> None:
    assert [text.partition(": ")[2] for text in start_text({"web": error})] == [end]


@pytest.mark.parametrize(("servers", "count"), [(("nfs", "nfs"), 1), (("nfs", "smb"), 2)])
def test_mounts_that_fail_alike_are_one_finding_whatever_their_paths(servers: Sequence[str], count: int) -> None:
    pods = [StartingPod(f"shop/w{n}-0", "n1", NOW_NS - HOUR_NS, "ContainerCreating") for n in range(2)]
    words = "Output: mount: refused for {0}:/share-{1} on /var/lib/kubelet/pods/{1}/mount"
    events = [
        an_event(about=f"Pod/{pod.key}", reason="FailedMount", message=words.format(servers[n], n))
        for n, pod in enumerate(pods)
    ]
    assert len(told(starting_findings, nodes=[a_line("n1")], starting=pods, events=events)) == count


@pytest.mark.parametrize(("owner", "is_told"), [("DaemonSet/obs/agent", True), ("Deployment/ml/embed", False)])
def test_an_instance_type_in_common_is_named_for_daemonsets_only(owner: str, *, is_told: bool) -> None:
    lines = [replace(a_line(f"n{n}"), instance_type="m6i.large" if n < 2 else "m6i.4xlarge") for n in range(5)]
    pods = [replace(pod, owner=owner) for pod in crashing(["n2", "n3", "n4"])]
    assert ("on m6i.4xlarge nodes and run on m6i.large nodes" in crash_text(lines, pods, ["n0", "n1"])) is is_told


@pytest.mark.parametrize(("selectors", "is_told"), [
    (({"family": "m6i"},), True),
    (({},), False),
    (({"family": "m6a"},), False),
    (({"family": "m6i"}, {"family": "m6i"}), False),
])  # fmt: skip
def test_the_daemonset_that_nodes_with_crashing_pods_lack_is_named(
    selectors: Sequence[dict[str, str]], *, is_told: bool
) -> None:
    labels = [{FAMILY: selector["family"]} if selector else {} for selector in selectors]
    daemonsets = [a_daemonset(name=f"proxy-{n}", node_selector=label) for n, label in enumerate(labels)]
    lines = [*(a_line(f"bad-{n}", family="m6a") for n in range(3)), *(a_line(f"good-{n}") for n in range(2))]
    [text] = told(crashing_findings, nodes=lines, crashing=crashing(["bad-0", "bad-1", "bad-2"]),
                  daemonsets=daemonsets, running_on={"uid": {"good-0": NOW_NS, "good-1": NOW_NS}})  # fmt: skip
    assert ("on m6a nodes, where DaemonSet kube-system/proxy-0 does not run, and run on m6i nodes" in text) is is_told


@pytest.mark.parametrize(("name", "tolerations", "is_told"), [
    ("ebs-csi-node", (), True),
    ("ebs-csi-node", (Toleration("team", "Exists"),), False),
    ("efs-csi-node", (), False),
])  # fmt: skip
def test_the_daemonset_of_a_missing_volume_driver_is_named(
    name: str, tolerations: Sequence[Toleration], *, is_told: bool
) -> None:
    claim = a_nodeclaim(taints=(Taint("team", "NoSchedule", "db"),))
    pod = StartingPod("db/pg-0", "n1", NOW_NS - HOUR_NS, "ContainerCreating")
    message = "CSINode n1 does not contain driver ebs.csi.aws.com"
    [text] = told(
        starting_findings,
        nodes=[replace(a_line("n1"), claim=claim)],
        starting=[pod],
        events=[an_event(about="Pod/db/pg-0", reason="FailedAttachVolume", message=message)],
        daemonsets=[a_daemonset(name=name, tolerations=tolerations)],
    )
    named = ", and DaemonSet kube-system/ebs-csi-node does not tolerate team=db:NoSchedule"
    assert text.endswith(named) is is_told


def test_missing_images_are_separate_findings() -> None:
    texts = start_text({name: f"registry.example/{name}:1: not found" for name in ("web", "api")})
    assert [text.partition(" on ")[0] for text in texts] == ["shop/web-0", "shop/api-0"]
    assert all(text.endswith("not found") for text in texts)


def test_a_running_init_container_shows_that_volumes_are_mounted() -> None:
    pod = StartingPod("shop/web-0", "n1", NOW_NS - HOUR_NS, "PodInitializing", init_container="migrate")
    events = [an_event(about="Pod/shop/web-0", reason="FailedMount", message="no Secret", source="kubelet")]
    for init, end in (
        ("migrate", "its containers wait for the init container migrate"),
        ("", "FailedMount: no Secret"),
    ):
        starting = [replace(pod, init_container=init)]
        [text] = told(starting_findings, nodes=[a_line("n1")], starting=starting, events=events)
        assert text.endswith(end)


def test_evicted_pods_are_counted_next_to_another_revision_that_is_ready() -> None:
    unready = [replace(pod, waiting_reason="") for pod in crashing(["n1", "n1"])]
    events = [an_event(about="Pod/ml/embed-9", reason="Evicted", last_ns=NOW_NS - HOUR_NS)]
    running = {"Deployment/ml/embed": {"ml/embed-old": NOW_NS}}
    [text] = told(unready_findings, nodes=[a_line("n1")], unready=unready, events=events, running_on=running)
    assert text.endswith("of another revision is; Karpenter evicted 1 pod of this workload just before")


@pytest.mark.parametrize(("error", "minutes", "is_told"), [
    ("unexpected status: 401 Unauthorized", 1, True),
    ("pull access denied, repository does not exist", 1, True),
    ("unexpected status: 401 Unauthorized", 50, False),
    ("web:401: not found", 1, False),
    ("failed to authorize: dial tcp 54.1.1.1:443: i/o timeout", 1, False),
])  # fmt: skip
def test_a_pull_secret_is_named_if_the_registry_demands_credentials(error: str, minutes: int, *, is_told: bool) -> None:
    reason, text = "FailedToRetrieveImagePullSecret", "Unable to retrieve some image pull secrets (regcred)"
    event = an_event(about="Pod/shop/web-0", reason=reason, message=text, last_ns=NOW_NS - minutes * MINUTE_NS)
    (told_text,) = start_text({"web": error}, events=[event])
    assert ("(regcred)" in told_text) is is_told


def test_pods_are_one_finding_only_if_their_volumes_fail_alike() -> None:
    errors = {
        f"pg-{n}": f'AttachVolume.Attach failed for volume "pvc-{n}" : CSINode n{n} does not contain driver ebs'
        for n in range(2)
    } | {"mongo-0": 'Multi-Attach error for volume "pvc-2" Volume is already exclusively attached to one node'}
    pods = [
        StartingPod(
            f"db/{name}", f"n{number}", NOW_NS - HOUR_NS, "ContainerCreating", owner=f"StatefulSet/db/{name[:2]}"
        )
        for number, name in enumerate(errors)
    ]
    events = [
        an_event(about=f"Pod/db/{name}", reason="FailedAttachVolume", message=error) for name, error in errors.items()
    ]
    case = VerdictCase(now_ns=NOW_NS, nodes=[a_line(pod.node) for pod in pods], starting=pods, events=events)
    assert [sentence(f, NOW_NS, {}).partition(" not started")[0] for f in starting_findings(case)] == [
        "2 pods db/pg-{0,1} on 2 nodes have",
        "db/mongo-0 on node n2 has",
    ]


@pytest.mark.parametrize(("minutes", "is_told"), [(29, False), (31, True)])
def test_a_job_whose_sidecar_runs_on_is_reported_after_half_an_hour(minutes: int, *, is_told: bool) -> None:
    finished = NOW_NS - minutes * MINUTE_NS
    pod = OutlivedPod("reports/export-1-x", "n1", "CronJob/reports/export", finished, ("istio-proxy",))
    findings = [*outlived_findings(VerdictCase(now_ns=NOW_NS, outlived=[pod]))]
    assert bool(findings) is is_told
    assert not is_told or sentence(findings[0], NOW_NS, {}) == (
        "reports/export-1-x of CronJob reports/export on 1 node has finished for 31m, but its container istio-proxy "
        "runs on: its Job never completes"
    )


@pytest.mark.parametrize(("message", "pods", "last", "is_told"), [
    ('Usage of EmptyDir volume "scratch" exceeds the limit "5Gi". ', 3, 5, True),
    ('Container app exceeded its local ephemeral storage limit "1Gi". ', 3, 5, True),
    ("Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ", 3, 5, True),
    ('Usage of EmptyDir volume "scratch" exceeds the limit "5Gi". ', 2, 5, False),
    ('Usage of EmptyDir volume "scratch" exceeds the limit "5Gi". ', 3, 31, False),
    ("The node was low on resource: pids. ", 3, 5, False),
])  # fmt: skip
def test_pods_that_exceed_their_own_limit_are_reported(message: str, pods: int, last: int, *, is_told: bool) -> None:
    events = [
        an_event(name=f"e{n}", about=f"Pod/etl/merge-{n}", reason="Evicted", message=message, source="kubelet",
                 last_ns=NOW_NS - (last + 10 * n) * MINUTE_NS)
        for n in range(pods)
    ]  # fmt: skip
    texts = told(rejected_findings, events=events)
    expected = f"kubelets evicted 3 pods (etl/merge-{{0,1,2}}) in 25m: {message.strip().removesuffix('.')}"
    assert texts == ([expected] if is_told else [])
