"""A recording taken with AWS credentials keeps AWS prices, offerings, zones and subnets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from botocore.loaders import create_loader

from karptui.aws.catalogue import instance_type_facts
from karptui.cli.main import main
from tests.builders import present
from tests.cli.files import kubeconfig
from tests.cli.test_recorded_decisions import POOL, a_cluster, answer, pseudonyms, without_names
from tests.fake_api_server import LoopbackServer
from tests.sources.aws.conftest import ME, FakeAws
from tests.sources.aws.test_questions import product

ZONES = {"us-east-1a": "use1-az4", "us-east-1b": "use1-az6", "us-east-1c": "use1-az1"}
SUBNETS = ("subnet-01c4e8a1b7d5f9032", "subnet-02c4e8a1b7d5f9032", "subnet-03c4e8a1b7d5f9032")
COMMANDS = [["next"], ["types", "--pool", POOL]]
"""A decision that depends on prices, and the list of offerings: all other output depends on these."""


def a_region() -> FakeAws:
    """Return a fake AWS whose prices rise with the type's name; one zone offers only few types."""
    aws = FakeAws()
    names = sorted(name for name in instance_type_facts() if re.match(r"[cmr]5a?[.]", name))
    aws.xml("GetCallerIdentity", f"<GetCallerIdentityResult>{ME}</GetCallerIdentityResult>")
    aws.json("GetProducts", {"PriceList": [product(name, f"{1 + at / 100}") for at, name in enumerate(names)]})
    answers = {
        "DescribeAvailabilityZones": (
            "availabilityZoneInfo",
            (f"<zoneName>{name}</zoneName><zoneId>{zone_id}</zoneId>" for name, zone_id in ZONES.items()),
        ),
        "DescribeInstanceTypeOfferings": (
            "instanceTypeOfferingSet",
            (
                f"<instanceType>{name}</instanceType><location>{zone_id}</location>"
                for name in names
                for zone_id in ZONES.values()
                if zone_id != "use1-az1" or name.startswith("m")
            ),
        ),
        "DescribeSpotPriceHistory": (
            "spotPriceHistorySet",
            (
                f"<instanceType>{name}</instanceType><availabilityZoneId>use1-az4</availabilityZoneId>"
                f"<spotPrice>{0.5 + at / 100}</spotPrice>"
                for at, name in enumerate(names)
            ),
        ),
        "DescribeSubnets": (
            "subnetSet",
            (
                f"<subnetId>{subnet}</subnetId><availabilityZone>{zone}</availabilityZone>"
                f"<availabilityZoneId>{zone_id}</availabilityZoneId><availableIpAddressCount>{free}"
                "</availableIpAddressCount>"
                for subnet, (zone, zone_id), free in zip(SUBNETS, ZONES.items(), (7, 500, 600), strict=True)
            ),
        ),
        "DescribeCapacityReservations": ("capacityReservationSet", ()),
    }
    for action, (field, items) in answers.items():
        aws.xml(action, f"<{field}>{''.join(f'<item>{item}</item>' for item in items)}</{field}>")
    return aws


@pytest.fixture(name="flags")
def live_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Serve AWS and a cluster without Karpenter's metrics, and yield the flags to connect to them."""
    cluster = a_cluster()
    others = present(cluster.fault)

    def without_metrics(call: Any) -> None:
        if call.path.endswith("/proxy/metrics"):
            call.error(404)
        else:
            others(call)

    cluster.fault = without_metrics
    for name, value in (
        ("ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE"),
        ("SECRET_ACCESS_KEY", "secret"),
        ("REGION", "us-east-1"),
    ):
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.chdir(tmp_path)
    # Cache the API models of EC2 and Pricing: otherwise each command parses megabytes of JSON again.
    monkeypatch.setattr("botocore.session.create_loader", cache(create_loader))
    with LoopbackServer(a_region()) as aws, LoopbackServer(cluster) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", aws.url)
        yield ["--kubeconfig", kubeconfig(tmp_path, server.url)]


def test_a_recording_decides_by_the_recorded_answers_of_aws(
    flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for name, redact in (("plain.json", []), ("redacted.json", ["--redact"])):
        main(["record", name, *redact, *flags])
    renamed = pseudonyms(Path.cwd())
    names = frozenset((*renamed, *renamed.values()))
    for words in COMMANDS:
        asked = [*words, "-o", "json"]
        live = without_names(answer([*asked, *flags], capsys), names)
        assert without_names(answer([*asked, "--snapshot", "plain.json"], capsys), names) == live, words
        again = [renamed.get(word, word) for word in asked]
        assert without_names(answer([*again, "--snapshot", "redacted.json"], capsys), names) == live, words
        if words == ["next"]:
            assert without_names(answer([*asked, *flags, "--no-aws"], capsys), names) != live, "AWS changes the answer"
    main(["explain", "pool", POOL, "--snapshot", "plain.json"])
    assert "7 free IPv4 addresses" in capsys.readouterr().out
