from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from karptui.karpenter.instance_type import Offering, Overhead
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.sources.snapshot.instance_types import Catalogs
from karptui.sources.snapshot.text import SnapshotError
from tests.builders import amounts
from tests.builders.files import written

ZONE = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}
LARGE: dict[str, Any] = {
    "name": "m5.large",
    "requirements": [ZONE, {"key": "karpenter.sh/x", "operator": "Exists", "minValues": 2}],
    "capacity": {"cpu": "2", "memory": "8Gi", "pods": 29},
    "overhead": {"kubeReserved": {"cpu": "70m"}, "systemReserved": {"memory": "100Mi"},
                 "evictionThreshold": {"memory": "100Mi"}},
    "offerings": [{"requirements": [ZONE], "price": 0.096, "available": True},
                  {"requirements": [ZONE], "price": 0, "available": False, "reservationCapacity": 3,
                   "other": "ignored"}],
    "other": "ignored",
}  # fmt: skip


def test_reads_an_instance_type() -> None:
    (large,) = Catalogs().of_value([LARGE], "a.json")
    zone = NodeSelectorRequirement("topology.kubernetes.io/zone", "In", ("a",))
    assert large.name == "m5.large"
    assert large.requirements == (zone, NodeSelectorRequirement("karpenter.sh/x", "Exists", (), 2))
    assert large.capacity == amounts({"cpu": "2", "memory": "8Gi", "pods": "29"})
    assert large.overhead == Overhead(
        amounts({"cpu": "70m"}), amounts({"memory": "100Mi"}), amounts({"memory": "100Mi"})
    )
    assert large.offerings == (
        Offering(requirements=(zone,), price_per_hour=0.096),
        Offering(requirements=(zone,), price_per_hour=0.0, is_available=False, reservation_capacity=3),
    )
    assert large.offerings[0].requirements[0] is large.requirements[0]


def test_reads_a_catalog_once_until_it_changes(tmp_path: Path) -> None:
    file = written(tmp_path / "x.json", [LARGE])
    catalogs = Catalogs()
    first = catalogs.of_file("x.json", tmp_path)
    assert catalogs.of_file("x.json", tmp_path) is first
    file.write_text(json.dumps([LARGE, LARGE]))
    assert len(catalogs.of_file("x.json", tmp_path)) == 2


def test_forgets_the_lists_used_least_recently() -> None:
    catalogs = Catalogs()
    first = catalogs.of_value([LARGE], "a")
    kept = catalogs.of_value([{"name": "kept"}], "a")
    for number in range(31):
        catalogs.of_value([{"name": f"type-{number}"}], "a")
        assert catalogs.of_value([{"name": "kept"}], "a") is kept
    assert catalogs.of_value([LARGE], "a") is not first


@pytest.mark.parametrize(("value", "problem"), [
    ([{"offerings": []}], "[0].name: is missing"),
    ([{"name": "x", "offerings": [{}]}], "[0].offerings[0].price: is missing"),
    ([{"name": "x", "capacity": {"cpu": "lots"}}], "x: capacity.cpu: 'lots' is not a quantity"),
    (["x"], "[0]: must be an object, is text"),
    ({"types": []}, "instanceTypes: is missing"),
])  # fmt: skip
def test_names_the_type_and_the_field(value: Any, problem: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        Catalogs().of_value(value, "a.json")
    assert str(caught.value) == f"a.json: instanceTypes: {problem}"


@pytest.mark.parametrize(("data", "problem"), [(b"[", "is not JSON"), (None, "cannot be read: No such file")])
def test_names_the_file(tmp_path: Path, data: bytes | None, problem: str) -> None:
    if data is not None:
        (tmp_path / "x.json").write_bytes(data)
    with pytest.raises(SnapshotError, match=problem) as caught:
        Catalogs().of_file("x.json", tmp_path)
    assert str(caught.value).startswith(f"catalog {tmp_path / 'x.json'}: ")
