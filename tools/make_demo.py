"""Write the recording of the demo: make_demo.py [--seed N] [--output FILE].

The cluster is invented, but its instance types are real: capacities and labels come from the built-in EC2 catalogue.
Messages of kube-scheduler and Karpenter come from karptui's own engines. The same seed gives the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import random
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from karptui.kube.timestamps import parse_timestamp
from karptui.sources.demo.karpenter import SETTINGS, VERSION
from karptui.sources.demo.world import Manifest, key_of
from tools.demo import situations, troubles
from tools.demo.machines import HOUR_NS, MINUTE_NS, Foundry, Machine
from tools.demo.pools import OLD_AMI, daemonsets, nodeclasses, nodepools
from tools.demo.saying import karpenter_events, with_verdict
from tools.demo.workloads import EDGE_PODS, GENERAL, SYSTEM, TRINO_RUNNING, Planter, asks, namespaces

OUTPUT: Final = Path(__file__).resolve().parent.parent / "karptui/sources/demo/recording.json.gz"
NOW: Final = "2026-11-20T12:00:00Z"
SEED: Final = 4711
GENERAL_TYPES: Final = (
    ("m7i.2xlarge", 10),
    ("m6i.4xlarge", 5),
    ("c7i.4xlarge", 3),
    ("m6a.2xlarge", 8),
    ("c7a.xlarge", 5),
    ("m7i.8xlarge", 2),
    ("r6i.2xlarge", 4),
    ("m7i-flex.2xlarge", 3),
    ("c6i.2xlarge", 2),
)
AGES_HOURS: Final = (0.7, 2, 5, 9, 15, 26, 40, 77, 120, 190, 310, 520)


def make(seed: int) -> dict[str, Any]:
    """Return the recording."""
    rng = random.Random(seed)
    now_ns = parse_timestamp(NOW)
    pools, classes, daemons = nodepools(rng, now_ns), nodeclasses(rng, now_ns), daemonsets(rng, now_ns)
    foundry = Foundry(rng, now_ns, pools, classes)
    general = [
        foundry.machine(
            "general",
            type_name,
            age_ns=int(rng.choice(AGES_HOURS) * rng.uniform(0.8, 1.2) * HOUR_NS),
            capacity_type="spot" if rng.random() < 0.55 else "on-demand",
        )
        for type_name, count in GENERAL_TYPES
        for _ in range(count)
    ]
    # The last but one has just joined.
    general[-2] = foundry.machine("general", "m7i-flex.2xlarge", age_ns=70 * 10**9)
    runners = [
        foundry.machine("runners", type_name, age_ns=int(hours * HOUR_NS), zone_index=index % 3)
        for index, (type_name, hours) in enumerate(
            (("r6i.4xlarge", 6.2), ("c6i.4xlarge", 4), ("m6i.4xlarge", 30), ("c6i.2xlarge", 3))
        )
    ]
    trino = [
        foundry.machine("trino", "r5a.8xlarge", age_ns=(11 + index) * 24 * HOUR_NS, image=OLD_AMI) for index in range(8)
    ]
    edge = [
        foundry.machine("edge", name, age_ns=(3 + 20 * index) * HOUR_NS)
        for index, name in enumerate(("c7g.large", "c7g.large", "m7g.large", "m7g.large"))
    ]
    system = [foundry.unmanaged("m6i.large", age_ns=120 * 24 * HOUR_NS, zone_index=index) for index in range(2)]
    machines = [*general, *runners, *trino, *edge, *system]

    planter = Planter(rng, now_ns)
    _prepare(general, runners, trino, now_ns)
    for machine in system:
        machine.is_spared = False
    planter.daemons(daemons, machines)
    withheld = [_withhold(machine, rng.uniform(0.0, 0.45)) for machine in general]
    for workload in SYSTEM:
        planter.plant(workload, system)
    for workload in sorted(GENERAL, key=lambda one: -one.cpu_millis):
        planter.plant(workload, general)
    planter.plant(TRINO_RUNNING, trino)
    planter.plant(EDGE_PODS, edge)
    for machine, amounts in zip(general, withheld, strict=True):
        machine.free = {name: amount + amounts[name] for name, amount in machine.free.items()}
    situations.ci_pods(planter, rng, runners, now_ns)
    if planter.unplaced:
        names = ", ".join(one["metadata"]["name"] for one in planter.unplaced[:5])
        raise SystemExit(f"{len(planter.unplaced)} pods found no node: {names}")
    _ask(machines, planter.objects)
    _trouble(general, runners, now_ns)
    claims = _claims_alone(foundry, now_ns)
    waiting = situations.waiting_pods(planter, now_ns)

    said, found, others, own = _troubles(
        random.Random(seed + 1), now_ns, pools=pools, classes=classes, daemons=daemons, claims=claims
    )
    machines += found
    waiting = [
        with_verdict(one, machines, parse_timestamp(one["metadata"]["creationTimestamp"])) for one in (*waiting, *own)
    ]

    objects: list[Manifest] = [*pools, *classes, *daemons]
    objects += [machine.node for machine in machines]
    objects += [machine.claim for machine in machines if machine.claim is not None]
    objects += [*claims, *planter.objects, *others, *waiting, *situations.pdbs(rng, now_ns)]
    objects += said
    spaces = (one["metadata"]["namespace"] for one in objects if "namespace" in one["metadata"])
    objects += namespaces(rng, [*spaces, "default"], now_ns)
    _count_limits(pools, machines)
    recording = {
        "karptui": 1,
        "name": "demo",
        "capturedAt": NOW,
        "karpenterVersion": VERSION,
        "settings": dict(SETTINGS),
        "disruption": True,
        "objects": objects,
    }
    # All problem pods except the last two have their events already, or none yet.
    spoken_of = {key_of(one) for one in own[:-2]}
    known = [one for one in objects if key_of(one) not in spoken_of]
    objects += karpenter_events(rng, _answer(recording), known, now_ns)
    return recording


def _troubles(
    rng: random.Random,
    now_ns: int,
    *,
    pools: list[Manifest],
    classes: list[Manifest],
    daemons: list[Manifest],
    claims: list[Manifest],
) -> tuple[list[Manifest], list[Machine], list[Manifest], list[Manifest]]:
    """Add the further problems, with a separate random generator so that the rest of the demo does not change.

    Returns:
        Volumes and events; machines; controllers and pods on nodes; pending pods.
    """
    pools += troubles.nodepools(rng, now_ns)
    daemons.append(troubles.device_plugin(rng, now_ns))
    found = troubles.machines(Foundry(rng, now_ns, pools, classes))
    latest, wide, _, broken = found
    situations.settle(wide, now_ns, 180)
    planter = Planter(rng, now_ns)
    planter.daemons(daemons, found)
    trouble = troubles.Troubles(planter, rng, now_ns)
    trouble.plant(found)
    _ask(found, planter.objects)
    troubles.without_gpu(broken)
    arriving, limbo, sold_out, torn = trouble.arriving(), trouble.limbo(), trouble.sold_out(), trouble.torn()
    registering = claims[-1]
    totals = [asks(one) for one in arriving]
    registering["spec"]["resources"] = {
        "requests": {
            "cpu": f"{490 + sum(one['cpu'] for one in totals)}m",
            "memory": f"{938 + (sum(one['memory'] for one in totals) >> 20)}Mi",
            "pods": str(9 + len(totals)),
        }
    }
    assert broken.claim is not None
    said = [
        *trouble.volumes(),
        troubles.nominated(rng, limbo, broken.claim, now_ns - 30 * MINUTE_NS),
        *(troubles.nominated(rng, one, registering, now_ns - 50 * 10**9) for one in arriving),
        *troubles.refused_launches(rng, sold_out, now_ns),
        *troubles.rounds(rng, latest, now_ns),
    ]
    objects = [troubles.crashed(one) if _is_plugin_on(one, broken) else one for one in planter.objects]
    return said, found, objects, [*arriving, limbo, sold_out, *torn]


def _is_plugin_on(manifest: Manifest, machine: Machine) -> bool:
    return manifest["metadata"]["name"].startswith("nvidia-") and manifest["spec"].get("nodeName") == machine.name


def _withhold(machine: Machine, share: float) -> dict[str, int]:
    """Reserve a share of the free resources, so that nodes are filled differently; return the reserved amounts."""
    amounts = {name: int(amount * share) for name, amount in machine.free.items()}
    machine.free = {name: amount - amounts[name] for name, amount in machine.free.items()}
    return amounts


def _ask(machines: list[Machine], objects: list[Manifest]) -> None:
    """Set the requests of each NodeClaim to the sum of the pods on its node."""
    totals = {machine.node["metadata"]["name"]: dict.fromkeys(machine.free, 0) for machine in machines}
    for one in objects:
        if one["kind"] == "Pod":
            total = totals[one["spec"]["nodeName"]]
            total |= {name: total[name] + amount for name, amount in asks(one).items()}
    for machine in machines:
        if machine.claim is not None:
            total = totals[machine.node["metadata"]["name"]]
            requests = {"cpu": f"{total['cpu']}m", "memory": f"{total['memory'] >> 20}Mi", "pods": str(total["pods"])}
            machine.claim["spec"]["resources"]["requests"] = requests


def _prepare(general: list[Machine], runners: list[Machine], trino: list[Machine], now_ns: int) -> None:
    """Exclude nodes that must stay nearly empty, and set Consolidatable and Drifted."""
    for machine in general[-4:]:
        machine.is_spared = True
    for index, machine in enumerate(general):
        if index % 3:
            situations.settle(machine, now_ns, 20 + index)
    for machine in trino:
        situations.drift(machine, "AMIDrift", now_ns)
    situations.drift(runners[2], "NodeClassDrift", now_ns)


def _trouble(general: list[Machine], runners: list[Machine], now_ns: int) -> None:
    """Add situations to nodes after their pods are placed."""
    situations.protect(general[3])
    situations.cordon(general[12])
    situations.lose(general[17], now_ns)
    situations.drift(general[6], "RequirementsDrifted", now_ns)
    situations.disrupt(general[-1], now_ns)
    situations.drain(general[20], now_ns, 12)
    situations.drain(runners[3], now_ns, 9, grace_ns=24 * HOUR_NS)
    situations.initializing(general[-2])


def _claims_alone(foundry: Foundry, now_ns: int) -> list[Manifest]:
    """Return NodeClaims without a node: launching, failing to launch, and not registered."""
    launching, failing, registering = (
        foundry.machine("general", name, age_ns=MINUTE_NS) for name in ("m7i.2xlarge", "c7i.8xlarge", "c6a.4xlarge")
    )
    # Karpenter keeps the NodeClaim and retries after this error; after insufficient capacity it would delete it.
    refused = ("RequestLimitExceeded", "Request limit exceeded")
    return [
        situations.without_node(launching, now_ns, stage="", seconds=3),
        situations.without_node(failing, now_ns, stage="", seconds=95, refused=refused),
        situations.without_node(registering, now_ns, stage="Launched", seconds=52),
    ]


def _count_limits(pools: list[Manifest], machines: list[Machine]) -> None:
    """Set the status of NodePools to the sum of their nodes, like Karpenter's counter controller."""
    for pool in pools:
        own = [machine.node["status"]["capacity"] for machine in machines if machine.pool == pool["metadata"]["name"]]
        total = {"nodes": str(len(own)), "cpu": str(sum(int(one["cpu"]) for one in own))}
        total["memory"] = f"{sum(int(one['memory'].removesuffix('Ki')) for one in own)}Ki"
        total["pods"] = str(sum(int(one["pods"]) for one in own))
        pool["status"]["resources"] = total


def _answer(recording: dict[str, Any]) -> dict[str, Any]:
    """Return the output of ``karptui simulate --disruption`` for the recording."""
    import contextlib
    import io

    from karptui.cli.main import main

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "demo.json"
        file.write_bytes(msgspec.json.encode(recording))
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
            main(["simulate", "--disruption", "-o", "json", str(file)])
    answer: dict[str, Any] = msgspec.json.decode(output.getvalue().encode())
    if "error" in answer:
        raise SystemExit(answer["error"])
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    args = parser.parse_args()
    recording = make(args.seed)
    # Neither name nor time in the gzip header, so that the same seed gives the same bytes.
    args.output.write_bytes(gzip.compress(msgspec.json.encode(recording), compresslevel=9, mtime=0))
    kinds = [one["kind"] for one in recording["objects"]]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    print(f"{args.output}: {args.output.stat().st_size:,} bytes; {counts}")


if __name__ == "__main__":
    main()
