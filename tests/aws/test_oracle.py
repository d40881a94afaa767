"""Seeded comparison with Karpenter's own AWS provider.

Opt in with KARPTUI_AWS_ORACLE=/path/to/the/oracle and KARPTUI_AWS_FACTS=/folder/with/instance-types.json.gz;
KARPTUI_AWS_SEED and KARPTUI_AWS_COUNT set the seed and number of variants, KARPTUI_AWS_VERSION the oracle's version
(1.14.1).
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from karptui.aws.case import TypesCase, answer, parse_case
from karptui.aws.catalogue import instance_type_facts
from karptui.aws.instance_types import allocatable, instance_types
from karptui.whatif.drift.hashes import ec2_nodeclass_hash
from tests.aws.comparison import answer_differences, differences
from tests.aws.variants import REGIONS, make_variants

ORACLE, FACTS = os.environ.get("KARPTUI_AWS_ORACLE"), os.environ.get("KARPTUI_AWS_FACTS")
SEED, COUNT = int(os.environ.get("KARPTUI_AWS_SEED", "1")), int(os.environ.get("KARPTUI_AWS_COUNT", "8"))
NEWER = os.environ.get("KARPTUI_AWS_VERSION", "").startswith("1.15")

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(not (ORACLE and FACTS), reason="KARPTUI_AWS_ORACLE and KARPTUI_AWS_FACTS are not set"),
]


@pytest.mark.parametrize("region", REGIONS)
def test_types_match_the_provider(region: str, tmp_path: Path) -> None:
    variants = make_variants(SEED, COUNT, region, tuple(instance_type_facts()), newer=NEWER)
    job = {
        "region": region,
        "instanceTypes": str(Path(str(FACTS)) / "instance-types.json.gz"),
        "outDir": str(tmp_path),
        "variants": [{key: value for key, value in variant.items() if key != "region"} for variant in variants],
    }
    (tmp_path / "job.json").write_text(json.dumps(job))
    subprocess.run([str(ORACLE), "resolve", str(tmp_path / "job.json")], check=True, capture_output=True, timeout=300)
    result = []
    for variant in variants:
        golden = json.loads((tmp_path / f"{variant['name']}.json").read_text())
        case = {key: value for key, value in variant.items() if key != "types"} | {"karpenter": golden["karpenter"]}
        parsed = parse_case(case)
        document = answer(parsed, variant["types"])
        texts = differences(golden, document) + texts_that_differ(golden, parsed)
        if NEWER:
            texts += answer_differences(golden, document)
            nodeclass_hash = ec2_nodeclass_hash(parsed.given, version=parsed.settings.rules.nodeclass_hash)
            texts += [] if nodeclass_hash == golden["answers"]["hash"]["value"] else [f"hash: karptui {nodeclass_hash}"]
        result += [f"{variant['name']}: {text}" for text in texts]
    assert not result, f"{len(result)} differences, the first:\n" + "\n".join(text[:1000] for text in result[:3])


def texts_that_differ(golden: dict[str, Any], case: TypesCase) -> list[str]:
    """Return the allocatable quantities formatted differently from Kubernetes."""
    facts = [instance_type_facts()[name] for name in golden["types"]]
    resolved = instance_types(case.nodeclass, case.settings, case.market, facts=facts,
                              placement_group=case.placement_group,
                              discovered_memory_bytes=case.discovered_memory_bytes)  # fmt: skip
    texts = {item.name: {name: str(amount) for name, amount in allocatable(item).items()} for item in resolved}
    return [
        f"{name}: Kubernetes writes {golden['types'][name]['strings']['allocatable']}, karptui {text}"
        for name, text in texts.items()
        if text != golden["types"][name]["strings"]["allocatable"]
    ]
