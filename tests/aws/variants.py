"""Random EC2NodeClasses, settings and regions, determined by the seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

ALIASES = (
    "al2@latest", "al2023@v20260601", "bottlerocket@latest", "windows2019@latest", "windows2022@latest",
    "windows2025@latest",
)  # fmt: skip
MEMORY = (
    "1Gi", "1.5Gi", "700Mi", "1000.25Ki", "123456789", "1e9", "0.5G", "1500m", "2E3", "0", "+300Mi", "12345678901n",
)  # fmt: skip
CPU = ("100m", "0.25", "1", "100.5m", "0.0005", "2e-1", "1500u", "0", "33")
STORAGE = ("2Gi", "3G", "0.3Ti", "100000000", "1", "5e9")
PERCENTS = ("5%", "12.5%", "33.3%", "0%", "100%", "100.0%", "99.99%", "0.01%", "7.77%", "1.1%", "50%", "3%", "14.29%")
VOLUMES = ("20Gi", "100Gi", "250G", "1Ti", "64T", "58Ti", "1Gi", "33G")
DEVICES = ("/dev/xvda", "/dev/xvdb", "/dev/sda1", "/dev/sdf")
EXPRESSIONS = (
    "max_pods - 1", "max(20, max_pods / 2)", "110", "vcpus * 8", "max_pods * 1.0", "memory_mib / 512",
    "default_enis * (ipv4_per_eni - 1) + 2", "vcpus > 8 ? 250 : 58", "instance_type", "100 / (vcpus - 2)",
    "max_pods - 4000",
)  # fmt: skip
AMOUNTS = (
    "vcpus * 20", "max_pods * 11 + 255", "100 - 200", "max(255.5, max_pods * 11.0)", "vcpus / 0",
    "min(vcpus, 4) * 10.9",
)  # fmt: skip
"""Kubelet expressions, some of which fail on some types."""
REGIONS = {
    "us-east-1": "use1", "eu-west-1": "euw1", "us-gov-west-1": "usgw1", "us-gov-east-1": "usge1", "cn-north-1": "cnn1",
    "ap-southeast-5": "apse5",
}  # fmt: skip


def make_variants(
    seed: int, count: int, region: str, names: Sequence[str], *, newer: bool = False
) -> list[dict[str, Any]]:
    """Return variants of one region for the provider's `resolve` job; `karptui types` reads the same documents.

    Those for 1.15 also have kubelet expressions, refused offerings, launches, enclaves and devices.
    """
    chance = random.Random(f"{seed}/{region}")
    variants = [_variant(chance, f"{region}-{number}", region, names) for number in range(count)]
    for variant in variants if newer else ():
        _add_newer(chance, variant)
    return variants


def _add_newer(chance: random.Random, variant: dict[str, Any]) -> None:
    names, zones = variant["types"], [zone["name"] for zone in variant["zones"]]
    spec, status = variant["nodeClass"]["spec"], variant["nodeClass"]["status"]
    variant["extras"] = True
    reserved = [item["id"] for item in status.get("capacityReservations", ())]
    gates = [
        f"{gate}={chance.choice(('true', 'true', 'false'))}"
        for gate in ("NodeClassCEL", "DRANVIDIAGPU", "DRAEFA")
        if chance.random() < 0.5
    ]
    variant["settings"]["AWS_FEATURE_GATES"] = ",".join(gates or ["NodeClassCEL=false"])
    if chance.random() < 0.4:
        variant["settings"]["IGNORE_DRA_REQUESTS"] = chance.choice((True, False, False))
    if chance.random() < 0.5:
        kubelet = spec.setdefault("kubelet", {})
        if chance.random() < 0.6:
            kubelet["maxPods"] = chance.choice(EXPRESSIONS)
        for field in ("kubeReserved", "systemReserved"):
            for key in ("cpu", "memory", "ephemeral-storage"):
                if chance.random() < 0.2:
                    kubelet.setdefault(field, {})[key] = chance.choice(AMOUNTS)
    if chance.random() < 0.3:
        spec["enclaveOptions"] = {"enabled": chance.random() < 0.7}
    if chance.random() < 0.5:
        variant["unavailable"] = [
            {"capacityType": usage, "type": chance.choice(names), "zone": chance.choice(zones)}
            | ({"reservation": chance.choice(reserved)} if usage == "reserved" and reserved else {})
            for usage in chance.choices(("spot", "on-demand", "reserved"), k=8)
        ]
    if chance.random() < 0.6:
        variant["launch"] = _launch(chance, names, zones, reserved)


def _launch(
    chance: random.Random, names: Sequence[str], zones: Sequence[str], reserved: Sequence[str]
) -> dict[str, Any]:
    usages = chance.choice(
        (["on-demand"], ["spot"], ["reserved"], ["spot", "on-demand"], ["on-demand", "reserved", "spot"])
    )
    rules: list[dict[str, Any]] = [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": usages}]
    choices: tuple[tuple[str, str, Sequence[str]], ...] = (
        ("topology.kubernetes.io/zone", "In", sorted(chance.sample(zones, chance.randint(1, len(zones))))),
        ("node.kubernetes.io/instance-type", "In", sorted(chance.sample(names, min(len(names), 15)))),
        ("karpenter.k8s.aws/instance-cpu", "Gt", ["3"]),
        ("karpenter.k8s.aws/instance-category", "NotIn", ["c", "t"]),
        ("karpenter.k8s.aws/capacity-reservation-type", "In", [chance.choice(("default", "capacity-block"))]),
        ("karpenter.k8s.aws/instance-gpu-count", chance.choice(("Exists", "DoesNotExist")), []),
        ("karpenter.k8s.aws/capacity-reservation-id", "In", [chance.choice(reserved)] if reserved else []),
        ("topology.k8s.aws/zone-id", "Exists", []),
    )
    for key, operator, values in choices:
        if chance.random() < 0.25 and (values or operator not in ("In", "NotIn", "Gt")):
            rules.append({"key": key, "operator": operator} | ({"values": values} if values else {}))
    requests = {
        "cpu": chance.choice(("1", "100m", "7.5", "30")),
        "memory": chance.choice(("1Gi", "0.5Gi", "100G", "1500m")),
        "pods": chance.choice(("1", "8", "40")),
        "nvidia.com/gpu": chance.choice(("1", "8")),
        "vpc.amazonaws.com/efa": "1",
        "ephemeral-storage": chance.choice(("15Gi", "30Gi")),
    }
    wanted = {key: value for key, value in requests.items() if chance.random() < (0.1 if "/" in key else 0.5)}
    return {"requirements": rules, "requests": wanted}


def _variant(chance: random.Random, name: str, region: str, all_names: Sequence[str]) -> dict[str, Any]:
    names = sorted(chance.sample(all_names, chance.choice((40, 120, 300))))
    zones = [{"name": f"{region}{letter}", "id": f"{REGIONS[region]}-az{n}"} for n, letter in enumerate("abcdef", 1)]
    zones = zones[: chance.randint(1, 6)]
    variant: dict[str, Any] = {
        "name": name,
        "region": region,
        "types": names,
        "zones": zones,
        "settings": {
            "VM_MEMORY_OVERHEAD_PERCENT": chance.choice(
                (0.075, 0, 0.048, 1, round(chance.random() / 4, chance.randint(1, 9)))
            ),
            "RESERVED_ENIS": chance.choice((0, 0, 0, 1, 2, 5)),
        },
        "requirements": True,
        "offerings": True,
        "strings": True,
    }
    spec = _spec(chance)
    status: dict[str, Any] = {"subnets": _subnets(chance, zones), "amis": _amis()}
    if chance.random() < 0.4:
        every = [zone["name"] for zone in zones]
        variant["typeZones"] = {
            name: chance.sample(every, chance.randint(1, len(every))) for name in names if chance.random() < 0.7
        }
    if chance.random() < 0.4:
        status["capacityReservations"], variant["reservations"] = _reservations(chance, names, zones)
    if chance.random() < 0.3:
        variant["discovered"] = {
            text: [chance.randint(10**8, 10**12) for _ in range(chance.randint(1, 4))]
            for text in chance.sample(names, 10)
        }
    if chance.random() < 0.3:
        spec["placementGroupSelector"] = {"name": "group"}
        strategy = chance.choice(("cluster", "spread", "partition"))
        variant["placementGroup"] = {
            "id": "pg-0123456789abcdef0", "strategy": strategy, "partitions": chance.randint(0, 7),
        }  # fmt: skip
    variant["nodeClass"] = {
        "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "default"}, "spec": spec,
        "status": status,
    }  # fmt: skip
    return variant


def _spec(chance: random.Random) -> dict[str, Any]:
    spec: dict[str, Any] = {"role": "node", "subnetSelectorTerms": [], "securityGroupSelectorTerms": []}
    if chance.random() < 0.2:
        spec["amiFamily"] = chance.choice(
            ("Custom", "Custom", "AL2", "AL2023", "Bottlerocket", "Windows2019", "Windows2022", "Windows2025")
        )
        spec["amiSelectorTerms"] = [{"id": "ami-0123456789abcdef0"}]
    else:
        spec["amiSelectorTerms"] = [{"alias": chance.choice(ALIASES)}]
    if chance.random() < 0.7:
        spec["kubelet"] = _kubelet(chance)
    if chance.random() < 0.3:
        spec["instanceStorePolicy"] = "RAID0"
    if chance.random() < 0.5:
        spec["blockDeviceMappings"] = _block_devices(chance)
    if chance.random() < 0.35:
        spec["networkInterfaces"] = [
            {
                "networkCardIndex": chance.choice((0, 0, 0, 1, 2, 5)),
                "deviceIndex": chance.choice((0, 1, 1, 2, 7)),
                "interfaceType": chance.choice(("interface", "efa-only")),
            }
            for _ in range(chance.randint(0, 3))
        ]
    if chance.random() < 0.15:
        spec["connectionTracking"] = {"tcpEstablishedTimeout": 300}
    if chance.random() < 0.15:
        spec["cpuOptions"] = {"nestedVirtualization": chance.choice(("enabled", "disabled"))}
    return spec


def _kubelet(chance: random.Random) -> dict[str, Any]:
    kubelet: dict[str, Any] = {}
    if chance.random() < 0.4:
        kubelet["maxPods"] = chance.choice((0, 1, 8, 20, 58, 110, 250, 2000))
    if chance.random() < 0.4:
        kubelet["podsPerCore"] = chance.choice((0, 1, 4, 10, 100))
    for field in ("kubeReserved", "systemReserved"):
        if chance.random() < 0.4:
            amounts = {
                "cpu": chance.choice(CPU), "memory": chance.choice(MEMORY), "ephemeral-storage": chance.choice(STORAGE),
            }  # fmt: skip
            kubelet[field] = {key: value for key, value in amounts.items() if chance.random() < 0.6}
            if chance.random() < 0.3:
                kubelet[field]["pid"] = "1000"
    if chance.random() < 0.6:
        kubelet["evictionHard"] = {
            signal: chance.choice((*PERCENTS, *amounts))
            for signal, amounts in (
                ("memory.available", MEMORY),
                ("nodefs.available", STORAGE),
                ("pid.available", ("5%",)),
            )
            if chance.random() < 0.7
        }
    if chance.random() < 0.4:
        soft = {"memory.available": (*PERCENTS, *MEMORY), "nodefs.available": (*PERCENTS, *STORAGE)}
        kubelet["evictionSoft"] = {key: chance.choice(texts) for key, texts in soft.items() if chance.random() < 0.7}
        kubelet["evictionSoftGracePeriod"] = dict.fromkeys(kubelet["evictionSoft"], "2m0s")
    return kubelet


def _block_devices(chance: random.Random) -> list[dict[str, Any]]:
    devices: list[dict[str, Any]] = []
    for device in chance.choices(DEVICES, k=chance.randint(0, 4)):
        ebs: dict[str, Any] = {"snapshotID": "snap-0123456789abcdef0"}
        if chance.random() < 0.75:
            ebs["volumeSize"] = chance.choice(VOLUMES)
        devices.append({"deviceName": device, "ebs": ebs})
    if devices and chance.random() < 0.3:
        chance.choice(devices)["rootVolume"] = True
    return devices


def _subnets(chance: random.Random, zones: list[dict[str, str]]) -> list[dict[str, str]]:
    subnets = [
        {"id": f"subnet-{number}", "zone": zone["name"], "zoneID": zone["id"]}
        for number, zone in enumerate(chance.sample(zones, chance.randint(1, len(zones))))
    ]
    if chance.random() < 0.3:
        subnets.append({"id": "subnet-elsewhere", "zone": "elsewhere-1z", "zoneID": "else1-az9"})
    if chance.random() < 0.3:
        subnets.append({"id": "subnet-again", **{key: subnets[0][key] for key in ("zone", "zoneID")}})
    if chance.random() < 0.2:
        for subnet in subnets:
            del subnet["zoneID"]
    return subnets


def _amis() -> list[dict[str, Any]]:
    return [
        {"id": f"ami-{arch}", "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": [arch]}]}
        for arch in ("amd64", "arm64")
    ]


def _reservations(
    chance: random.Random, names: Sequence[str], zones: list[dict[str, str]]
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    result = [
        {
            "id": f"cr-{number:017d}",
            "instanceType": name,
            "availabilityZone": chance.choice((*(zone["name"] for zone in zones), "elsewhere-1z", "nowhere-1a")),
            "instanceMatchCriteria": "targeted",
            "ownerID": "123456789012",
            "reservationType": chance.choice(("default", "capacity-block")),
            "interruptible": chance.random() < 0.3,
            "state": chance.choice(("active", "active", "expiring")),
        }
        for number, name in enumerate(chance.choices(names, k=12))
    ]
    return result, {str(item["id"]): chance.choice((0, 1, 7)) for item in result if chance.random() < 0.9}
