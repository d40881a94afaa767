"""Compares the decisions for a redacted recording with those for its original snapshot."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from karptui.aws.evidence import Evidence
from karptui.disruption.json_form import legacy_repair_json, method_json
from karptui.disruption.methods import simulate
from karptui.kube.timestamps import parse_timestamp
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.solution import solve
from karptui.sources.snapshot.recording import build_recording
from karptui.sources.snapshot.redact import Redactor
from tests.goldens_loading import GOLDENS, load, load_settings, types_of


def changed_decision(snapshot: Mapping[str, Any], folder: Path = GOLDENS) -> str:
    """Return the first decision that redaction changes, or an empty string."""
    settings = load_settings(snapshot)
    types = types_of(snapshot, folder)
    redactor = Redactor(b"k")
    recording = build_recording(
        snapshot["objects"],
        name=snapshot["name"],
        captured_at_ns=parse_timestamp(snapshot["capturedAt"]),
        evidence=Evidence(
            settings=settings, instance_types=types, stated_version=snapshot.get("karpenterVersion", "1.14.1")
        ),
        with_disruption=snapshot.get("disruption", False),
        redactor=redactor,
    )
    wanted = _Renamed(redactor).answer(_answer(load(snapshot, folder), snapshot.get("disruption", False)))
    answer = _answer(load(recording), recording.get("disruption", False))
    for part, value in wanted.items():
        if _settled(value) != _settled(answer[part]):
            return f"{part}: {json.dumps(_settled(value))[:600]} became {json.dumps(_settled(answer[part]))[:600]}"
    return ""


def _answer(prepared: Prepared, with_disruption: bool) -> dict[str, Any]:
    provisioning = solve(prepared).as_json()
    answer = {
        "claims": provisioning["newNodeClaims"],
        "existing": provisioning["existingNodes"],
        "failed": sorted(provisioning["podErrors"]),
    }
    if with_disruption:
        report = simulate(prepared)
        answer["disruption"] = [method_json(result) for result in report.methods]
        if report.legacy_repairs is not None:
            answer["disruption"].append(legacy_repair_json(report.legacy_repairs))
        answer["said"] = [
            {"kind": key.partition("/")[0], "key": key.partition("/")[2], "reasons": sorted(_reasons(lines))}
            for key, lines in report.events.items()
        ]
    return answer


def _reasons(lines: Sequence[str]) -> list[str]:
    return [line.partition(":")[0] for line in lines]


def _settled(value: Any) -> Any:
    """Return a value with its lists sorted, because their order may depend on names."""
    if isinstance(value, dict):
        return {key: _settled(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return sorted(map(_settled, value), key=lambda item: json.dumps(item, sort_keys=True))
    return value


class _Renamed:
    """Replaces the names in an answer by their pseudonyms, by field."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor

    def answer(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self._part(name, value) for name, value in answer.items()}

    def _part(self, name: str, value: Any) -> Any:
        if name == "instanceTypes":
            return [self._name("InstanceType", item) for item in value]
        if name in ("pods", "failed"):
            return [self._pod(key) for key in value]
        if name == "requirements":
            return [self._requirement(item) for item in value]
        if name == "requests":
            return {self._redactor.values.key(key): amount for key, amount in value.items()}
        if name == "budgets":
            return {self._name("NodePool", pool): count for pool, count in value.items()}
        if name in ("repair", "nodes"):
            return {self._node(node): self._part("", result) for node, result in value.items()}
        if name == "existing":
            return [{"name": self._node(item["name"]), "pods": self._part("pods", item["pods"])} for item in value]
        if name == "said":
            return [{**item, "key": self._key_of(item["kind"], item["key"])} for item in value]
        if name == "annotations":
            return {self._redactor.values.key(key): text for key, text in value.items()}
        if isinstance(value, dict):
            return {key: self._part(key, part) for key, part in value.items()}
        if isinstance(value, list):
            return [self._part(name, part) for part in value]
        return self._text(name, value)

    def _text(self, name: str, value: Any) -> Any:
        if name == "candidates":
            return self._node(value)
        if name in ("condition", "reason") and isinstance(value, str):
            rename = self._redactor.values.word if name == "condition" else self._redactor.values.reason
            return rename(value)
        return self._name("NodePool", value) if name == "nodePool" else value

    def _requirement(self, document: Mapping[str, Any]) -> dict[str, Any]:
        redacted_value: dict[str, Any] = self._redactor.objects.redacted_value(document, "")
        return redacted_value

    def _key_of(self, kind: str, key: str) -> str:
        return self._pod(key) if kind == "Pod" else self._name(kind, key)

    def _pod(self, key: str) -> str:
        namespace, _, name = key.partition("/")
        virtual, text, rest = name.rpartition("capacity-buffer-")
        if text and not virtual:
            buffer, _, number = rest.rpartition("-")
            return f"{self._name('Namespace', namespace)}/{text}{self._name('CapacityBuffer', buffer)}-{number}"
        return f"{self._name('Namespace', namespace)}/{self._name('Pod', name)}"

    def _node(self, name: str) -> str:
        """Return the pseudonym of a node, or of a NodeClaim without a node yet."""
        return self._redactor.values.named("Node", name) or self._name("NodeClaim", name)

    def _name(self, kind: str, name: str) -> str:
        return self._redactor.values.named(kind, name) or name
