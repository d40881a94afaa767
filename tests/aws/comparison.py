"""Comparison of `karptui types` with the AWS provider's answer, for the fields of the latter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OFFERING_KEY = ("capacityType", "zone", "reservation", "partition")
PARTS = ("capacity", "overhead", "allocatable", "requirements", "offerings", "dynamicResources")


def differences(golden: Mapping[str, Any], document: Mapping[str, Any]) -> list[str]:
    """Return the differences as text, ignoring the order of requirements, their values and offerings."""
    result = []
    for name, expected in golden["types"].items():
        actual = document["types"].get(name)
        if actual is None:
            result.append(f"{name}: is missing")
            continue
        result += [
            f"{name}: {part}: Karpenter {expected[part]}, karptui {actual[part]}"
            for part in PARTS
            if part in expected and _plain(part, expected[part]) != _plain(part, actual.get(part))
        ]
        if "dynamicResources" in actual and "dynamicResources" not in expected:
            result.append(f"{name}: dynamicResources: Karpenter none, karptui {actual['dynamicResources']}")
    if "incompatible" in golden:
        ruled_out = sorted(set(document["incompatible"]) & golden["types"].keys())
        if ruled_out != sorted(golden["incompatible"]):
            result.append(f"incompatible: Karpenter {golden['incompatible']}, karptui {ruled_out}")
    return result


def answer_differences(golden: Mapping[str, Any], document: Mapping[str, Any]) -> list[str]:
    """Return the differences outside the types; of an error, only its presence is compared."""
    expected, actual = golden.get("answers", {}), document["answers"]
    pairs = {"filters": (expected.get("filters"), actual.get("filters"))}
    pairs["error"] = bool(expected.get("error")), bool(actual.get("error"))
    if "kubelet" in expected:
        result, other = expected["kubelet"], actual["kubelet"]
        for key in ("errors", "expressions", "unmanagedFields"):
            pairs[key] = result[key], other[key]
        for key in ("parseError", "compileError"):
            pairs[key] = bool(result.get(key)), bool(other.get(key))
        failing = "evaluationErrors"
        pairs[failing] = sorted(result.get(failing, ())), sorted(other.get(failing, ()))
    return [f"{key}: Karpenter {answer}, karptui {other}" for key, (answer, other) in pairs.items() if answer != other]


def _plain(part: str, value: Any) -> Any:
    if part == "requirements":
        return {item["key"]: (item["operator"], sorted(item.get("values") or [])) for item in value}
    if part == "offerings":
        rows = [{key: cell for key, cell in item.items() if cell is not None} for item in value]
        return sorted(rows, key=lambda row: [str(row.get(key)) for key in OFFERING_KEY])
    return value
