"""Faults of kubelets, upgrades, Jobs and costs that operators blame on Karpenter."""

from __future__ import annotations

from tests.incidents.cluster import Cluster, owned_by
from tests.incidents.fleets import fleet, gone_claim, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import add_node, both, conditions
from tests.incidents.objects import condition, suffix, uid
from tests.incidents.pods import add_pdb, add_pod, add_workload, waiting
from tests.incidents.pools import add_nodeclass, add_pool


@incident(
    story="The control plane was upgraded last night. EKS publishes no AL2 images for that version, so the EC2NodeClass legacy, which names the alias al2@latest, has had no AMI for nine hours. Its nodes run on, "
    "but this morning's five new pods get none.",
    cause="EC2NodeClass legacy has no AMI for 9 hours, because its alias al2@latest is not supported on EKS 1.33 and later; NodePool legacy launches nothing, and 5 pods are pending.",
    thread="aws/karpenter-provider-aws#8151",
    must=[r"NodeClass|\bAMIs?\b", "legacy", r"\bAL2\b", r"1\.33", n(5)],
    must_not=[LAUNCHES, ROOM, ICE, "deregistered"],
)
def al2_is_no_longer_published(c: Cluster) -> None:
    usual(c)
    why = "AL2 aliases are no longer supported on EKS 1.33+ (see https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions-standard.html#kubernetes-1-33)"
    add_nodeclass(
        c, "legacy", broken={"AMIsReady": ("AL2Deprecation", why)}, since="9h", spec={"amiSelectorTerms": [{"alias": "al2@latest"}]},
        status={"amis": []},
    )  # fmt: skip
    add_pool(
        c,
        "legacy",
        nodeclass="legacy",
        not_ready=("UnhealthyDependents", "AMIsReady=False", "9h"),
        labels={"team": "erp"},
    )
    pairs = fleet(c, "legacy", "erp/ledger", 3, age="21d")
    for pair in pairs:
        pair.status["nodeInfo"] |= {"kubeletVersion": "v1.32.9-eks-113cf36", "osImage": "Amazon Linux 2"}
    waiting(c, "erp/invoices", 5, "34m", pool="legacy")


@incident(
    story="The clock of one node is five days behind, since its AMI starts without chrony. The registry's new certificate is not yet valid there, so four pods of shop/recs on that node cannot pull their image for 19 "
    "minutes. Elsewhere the same image runs.",
    cause="4 pods of shop/recs on one node cannot pull their image for 19 minutes: the node's clock is behind (it is 2026-11-19 there), so the registry's certificate is not yet valid.",
    thread="elastic/cloud-on-k8s#4943",
    must=["shop/recs", n(4), r"x509|certificate|clock", r"1[89] ?m", r"ip-10-24-\d+-\d+|\b1 node\b|one node|not yet valid"],
    must_not=[LAUNCHES, r"not exist|missing", r"rate|429", r"arm64|no build", r"credential|denied|authori[sz]"],
)  # fmt: skip
def clock_of_a_node_is_wrong(c: Cluster) -> None:
    usual(c)
    good, bad = (add_node(c, "general", "m6i.xlarge", c.zones[1], age=age) for age in ("4d", "21m"))
    image = "registry.example/shop/recs:41"
    pods = add_workload(c, "shop/recs", on=[good], count=2, replicas=6, age="2d", cpu="600m", memory="1Gi", image=image)
    parent = next(
        item for item in c.objects if item["kind"] == "ReplicaSet" and item["metadata"]["name"].startswith("recs-")
    )
    for number in range(4):
        name = f"{parent['metadata']['name']}-{suffix('recs', 'late', number)}"
        labels = pods[0]["metadata"]["labels"]
        pod = add_pod(c, "shop", name, node=bad, parent=parent, age="19m", cpu="600m", memory="1Gi", labels=labels, image=image, waiting="ImagePullBackOff")  # fmt: skip
        text = (
            f'Failed to pull image "{image}": failed to pull and unpack image "{image}": failed to resolve reference "{image}": failed to do request: Head "https://registry.example/v2/shop/recs/manifests/41": '
            "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-11-19T08:52:13Z is before 2026-11-20T00:00:00Z"
        )
        c.event(pod, "Failed", text, last="3m", first="19m", count=8, source="kubelet")
        c.event(
            pod,
            "BackOff",
            f'Back-off pulling image "{image}"',
            last="10s",
            first="18m",
            count=80,
            kind="Normal",
            source="kubelet",
        )


@incident(
    story="A cache of many small files uses up the inodes of two nodes of pool ci; their disks are half empty. For 23 minutes the kubelet evicts the pods of ci/npm, 11 so far, and takes no new ones there.",
    cause="Two nodes of pool ci have disk pressure for 23 minutes, because their inodes are used up; the kubelet has evicted 11 pods of ci/npm.",
    thread="kubernetes/kubernetes#58820",
    must=["inodes", n(2), r"disk pressure|DiskPressure|low on", "evict", "ci/npm", n(11)],
    must_not=[
        LAUNCHES,
        r"memory pressure|MemoryPressure|want of memory",
        r"larger (volume|disk)|volume(Size)? is too small",
    ],
)
def inodes_are_used_up(c: Cluster) -> None:
    usual(c)
    _short_of_disk(c, "ci/npm", "inodes", nodes=2, evicted=11, minutes=23)


def _short_of_disk(c: Cluster, workload: str, resource: str, *, nodes: int, evicted: int, minutes: int) -> None:
    """Add a pool of the workload's namespace, some of whose nodes lack inodes or disk space and evict its pods."""
    team, name = workload.split("/")
    add_pool(c, team, sizes=("2xlarge",), labels={"team": team})
    pairs = [add_node(c, team, "m6i.2xlarge", zone, age="26h") for zone in c.zones]
    for pair in pairs[:nodes]:
        message = "kubelet has disk pressure"
        pair.status["conditions"][1] |= {"status": "True", "reason": "KubeletHasDiskPressure", "lastTransitionTime": c.at(f"{minutes}m"), "message": message}  # fmt: skip
        both(pair)[0]["spec"]["taints"] = [{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}]
        c.event(both(pair)[0], "EvictionThresholdMet", f"Attempting to reclaim {resource}", last="20s", first=f"{minutes}m", count=130, source="kubelet")  # fmt: skip
    spec = {"nodeSelector": {"team": team}}
    running = add_workload(c, workload, on=pairs, count=9, age="22m", cpu="2", memory="4Gi", spec=spec)
    parent = next(item for item in c.objects if item["kind"] == "ReplicaSet" and owned_by(item, name))
    text = f"The node was low on resource: {resource}. Threshold quantity: 2621440, available: 812544. "
    for number in range(evicted):
        pod = add_pod(
            c, team, f"{parent['metadata']['name']}-{resource[:3]}{number:02}", node=pairs[number % nodes], parent=parent,
            age=f"{60 + 115 * number}s", labels=running[0]["metadata"]["labels"], cpu="2", memory="4Gi", spec=spec,
            phase="Failed",
        )  # fmt: skip
        pod["status"] |= {"reason": "Evicted", "message": text}
        c.event(pod, "Evicted", text, last=f"{60 + 115 * number}s", source="kubelet")


@incident(
    story="Two nodes of pool ci run out of inodes, because of a cache of small files; for 23 minutes the kubelet evicts the pods of ci/npm, 7 so far. A third node, of pool etl, has been out of disk space for 49 minutes for another reason: the 5 pods of etl/sort that the kubelet evicted wrote large files.",
    cause="Two nodes of ci have disk pressure for 23 minutes, because their inodes are used up (7 pods of ci/npm evicted); one node of etl has it for 49 minutes for want of disk space (5 pods of etl/sort evicted).",
    thread="kubernetes/kubernetes#58820",
    must=[
        "inodes",
        n(2) + r"[^\n]*\bci\b[^\n]*inodes[^\n]*" + n(7),
        n(1) + r"[^\n]*\betl\b[^\n]*4[89] ?m[^\n]*" + n(5),
    ],
    must_not=[LAUNCHES, r"memory pressure|MemoryPressure|want of memory", n(12)],
)
def disks_fill_up_for_two_reasons(c: Cluster) -> None:
    usual(c)
    _short_of_disk(c, "ci/npm", "inodes", nodes=2, evicted=7, minutes=23)
    _short_of_disk(c, "etl/sort", "ephemeral-storage", nodes=1, evicted=5, minutes=49)


@incident(
    story="A new AMI came with al2023@latest, and NodePool web allows 100% of its nodes to be disrupted. Karpenter drains eight of its twelve nodes at once; twelve of the 36 pods of shop/front are still starting on the "
    "replacements, and there is no PodDisruptionBudget.",
    cause="Drift drains 8 of 12 nodes of web at once, because its disruption budget allows 100%; 12 pods of shop/front do not run.",
    thread="aws/karpenter-provider-aws#6980",
    must=["web", r"drift", r"\b8 (of|nodes)|eight", r"100 ?%|budget|at once|same time"],
    must_not=[LAUNCHES, "stuck|never", ICE, r"interrupt"],
)
def drift_rolls_too_fast(c: Cluster) -> None:
    usual(c)
    add_nodeclass(c, "latest", spec={"amiSelectorTerms": [{"alias": "al2023@latest"}]})
    add_pool(c, "web", nodeclass="latest", disruption={"budgets": [{"nodes": "100%"}]}, labels={"team": "web"})
    spec = {"nodeSelector": {"team": "web"}}
    stay = [add_node(c, "web", "m6i.xlarge", c.zones[number % 3], age="12d", drifted="14m") for number in range(4)]
    going = [
        add_node(c, "web", "m6i.xlarge", c.zones[number % 3], age="12d", drifted="14m", deleting="75s")
        for number in range(8)
    ]
    for pair in going:
        conditions(pair, condition("DisruptionReason", "True", c.at("3m"), "Drifted"))
        conditions(pair, condition("Drained", "Unknown", c.at("75s"), "Draining", "Draining"))
        for item in both(pair):
            c.event(item, "DisruptionTerminating", f"Disrupting {item['kind']}: Drifted", last="76s", kind="Normal")
    fresh = [add_node(c, "web", "m6i.xlarge", c.zones[number % 3], age="3m") for number in range(8)]
    pods = add_workload(c, "shop/front", on=stay, count=12, replicas=36, age="3d", spec=spec)
    parent = next(
        each for each in c.objects if each["kind"] == "ReplicaSet" and each["metadata"]["name"].startswith("front-")
    )
    for number in range(24):
        name, slow = f"{parent['metadata']['name']}-{suffix('front', 'new', number)}", number >= 12
        add_pod(
            c, "shop", name, node=fresh[number % 8], parent=parent, age="45s" if slow else "65s", cpu="1150m", memory="3200Mi",
            labels=pods[0]["metadata"]["labels"], spec=spec, waiting="ContainerCreating" if slow else "",
        )  # fmt: skip


@incident(
    story="The Job ml/sweep runs for hours and allows two failures. Consolidation evicted its pods three times in 40 minutes; each eviction counts as a failure, and the Job gave up 11 minutes ago. Nothing is pending.",
    cause="Job ml/sweep failed 11 minutes ago (BackoffLimitExceeded) after Karpenter evicted its pods 3 times to consolidate nodes.",
    thread="aws/karpenter-provider-aws#3594",
    must=["ml/sweep", r"fail|BackoffLimitExceeded|gave up", r"evict", n(3), r"consolidat|Underutilized|Karpenter"],
    must_not=[LAUNCHES, r"\d+ pods? pending", r"out of memory|OOM", "interrupt"],
)
def job_fails_by_evictions(c: Cluster) -> None:
    usual(c)
    text = "Job has reached the specified backoff limit"
    spec = {"parallelism": 1, "completions": 1, "backoffLimit": 2, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "app", "image": "registry.example/ml/sweep:3"}]}}}  # fmt: skip
    failed = [
        condition(kind, "True", c.at("11m"), "BackoffLimitExceeded", text) for kind in ("FailureTarget", "Failed")
    ]
    job = c.add(
        "Job", "sweep", "ml", age="58m", spec=spec, status={"failed": 3, "startTime": c.at("58m"), "conditions": failed}
    )
    c.event(job, "BackoffLimitExceeded", text, last="11m", source="job-controller")
    for number in range(3):
        age = f"{11 + 14 * number}m"
        meta = {"name": f"sweep-{suffix('sweep', number)}", "namespace": "ml", "uid": uid(c.name, "sweep", number)}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta}
        c.event(pod, "Evicted", "Evicted pod: Underutilized", last=age, kind="Normal")
        claim = gone_claim(c, "general", number)
        c.event(
            claim,
            "DisruptionTerminating",
            "Disrupting NodeClaim: Underutilized",
            last=f"{12 + 14 * number}m",
            kind="Normal",
        )


@incident(
    story="EC2 announced 85 seconds ago that it takes a spot node back. Its three pods of video/encode got SIGTERM and go on encoding: they have half an hour of grace, and EC2 ends the instance two minutes after the notice.",
    cause="A spot node is interrupted, and 3 pods of video/encode on it are killed in about half a minute, when EC2 ends the instance, though they have 30 minutes of grace.",
    thread="aws/karpenter-provider-aws#8160",
    must=["video/encode", n(3), r"interrupt|taken back|reclaim", r"kill|lost|cut short|end(s|ed)? the instance", r"30 ?m|grace|2 ?m|\b3[0-9] ?s|seconds"],
    must_not=["stuck|never", r"PodDisruptionBudget|\bPDB", "do-not-disrupt", ICE],
)  # fmt: skip
def interrupted_pods_ignore_sigterm(c: Cluster) -> None:
    usual(c)
    add_pool(c, "spot", capacity=("spot",), labels={"team": "video"})
    add_node(c, "spot", "m6i.xlarge", c.zones[0], capacity="spot", age="70s")
    going = add_node(c, "spot", "m6i.xlarge", c.zones[2], capacity="spot", age="5h", deleting="84s")
    conditions(going, condition("Drained", "Unknown", c.at("83s"), "Draining", "Draining"))
    for manifest in both(going):
        c.event(manifest, "SpotInterrupted", "Spot interruption warning was triggered", last="85s")
        text = f"Interruption triggered termination for the {manifest['kind']}"
        c.event(manifest, "TerminatingOnInterruption", text, last="85s")
    spec = {"nodeSelector": {"team": "video"}, "terminationGracePeriodSeconds": 1800}
    for pod in add_workload(c, "video/encode", on=[going], count=3, age="4h", spec=spec):
        # The API server sets the deletion time to the end of the grace.
        pod["metadata"] |= {"deletionTimestamp": c.at("-1718s"), "deletionGracePeriodSeconds": 1800}
        c.event(pod, "Evicted", "Evicted pod: Forceful Termination", last="82s", kind="Normal")


@incident(
    story="The AMI of EC2NodeClass pinned is an ID from two years ago. The control plane was upgraded to 1.35 meanwhile, and the kubelets of the five nodes of pool pinned are still 1.30: a kubelet may be three minor "
    "versions older than the API server. Every new node gets the same kubelet.",
    cause="5 nodes of pinned run kubelet 1.30, five minor versions behind the other nodes (1.35); more than three are not supported. Their EC2NodeClass pins an old AMI.",
    thread="aws/karpenter-provider-aws#6050",
    must=["pinned", n(5), r"kubelet", r"1\.30", r"1\.35|three|\b3\b"],
    must_not=[LAUNCHES, "not ready|NotReady", r"are drifted"],
)
def kubelets_are_too_old(c: Cluster) -> None:
    usual(c)
    add_nodeclass(c, "pinned", spec={"amiFamily": "AL2023", "amiSelectorTerms": [{"id": "ami-0c2b8d4e6f0a1937d"}]})
    add_pool(c, "pinned", nodeclass="pinned", labels={"team": "pinned"})
    for pair in fleet(c, "pinned", "erp/batch", 5, age="11d"):
        pair.status["nodeInfo"] |= {"kubeletVersion": "v1.30.4-eks-a737599"}
    add_pdb(c, "erp", "batch", "batch", healthy=15, desired=14, expected=15, maxUnavailable=1)


@incident(
    story="Spot was short three days ago, and Karpenter launched six on-demand nodes for pool mixed, which prefers spot. Spot is back, but the pool only removes empty nodes, so the six stay on-demand until they expire.",
    cause="6 on-demand nodes of mixed stay, although the pool allows spot, because it consolidates only empty nodes (WhenEmpty).",
    thread="kubernetes-sigs/karpenter#735",
    must=["mixed", n(6), r"on-demand", "spot", r"WhenEmpty|only empty"],
    must_not=[LAUNCHES, ICE, "stuck|never", "do-not-disrupt"],
)
def on_demand_fallback_stays(c: Cluster) -> None:
    usual(c)
    add_pool(
        c,
        "mixed",
        capacity=("spot", "on-demand"),
        disruption={"consolidationPolicy": "WhenEmpty"},
        labels={"team": "mixed"},
    )
    spot = [add_node(c, "mixed", "m6i.xlarge", c.zones[number % 3], capacity="spot", age="20h") for number in range(3)]
    fallback = [add_node(c, "mixed", "m6i.xlarge", c.zones[number % 3], age="3d") for number in range(6)]
    add_workload(
        c, "media/thumbs", on=[*spot, *fallback], count=27, age="19h", spec={"nodeSelector": {"team": "mixed"}}
    )
