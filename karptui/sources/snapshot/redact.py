"""Names into pseudonyms, by the field that holds them: the same in every recording made with the same key.

Only the values that every cluster may have stay (``public``). docs/snapshots.md lists the kept values and the reasons.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from karptui.decode.kinds import Kind
from karptui.karpenter.scheduler_config import SpreadError, read_document
from karptui.kube.yaml_reader import YamlError, load_documents
from karptui.sources.snapshot import public
from karptui.sources.snapshot.redact_objects import AMOUNTS, Objects
from karptui.sources.snapshot.redact_values import Values

_POLICY_WORDS: Final = frozenset({"Respect", "Ignore", "Strict", "BestEffort", "true", "false", ""})
_MATCHES_ALL: Final = frozenset({"", ".*", "^.*$", ".+"})
_CONTROLLER: Final = "Karpenter's Deployment"
_ELSEWHERE: Final = "another object"


class Redactor:
    """Replaces what identifies a cluster and its owner."""

    def __init__(self, key: bytes) -> None:
        self.values = Values(key)
        self.objects = Objects(self.values)

    def redact(self, objects: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the objects with pseudonyms; all objects of a recording is required at once."""
        redacted: list[dict[str, Any]] = self.redact_document({"objects": list(objects)})["objects"]
        return redacted

    def redact_document(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return a recording with pseudonyms."""
        self.values.is_learning = True
        self._document(document)
        self.values.is_learning = False
        self.values.pseudonyms.settle()
        return self._document(document)

    def _document(self, document: Mapping[str, Any]) -> dict[str, Any]:
        item = {name: document[name] for name in ("karptui", "disruption") if name in document}
        if "name" in document:
            item["name"] = "redacted"
        if public.INSTANT.fullmatch(str(document.get("capturedAt", ""))):
            item["capturedAt"] = document["capturedAt"]
        for field, rule in self._OF_DOCUMENT.items():
            if document.get(field) is not None:
                item[field] = rule(self, document[field])
        item["objects"] = [self.objects.redacted(manifest) for manifest in document.get("objects", ())]
        if document.get("repairPolicies") is not None:  # their expressions name the reasons of the objects
            item["repairPolicies"] = [self._policy(policy) for policy in document["repairPolicies"]]
        return item

    def _instant(self, value: str) -> str:
        return self.values.unless_public(public.INSTANT.fullmatch, value)

    def _settings(self, settings: Mapping[str, str]) -> dict[str, str]:
        return {name: self._setting(name, str(value)) for name, value in settings.items()}

    def _setting(self, name: str, value: str) -> str:
        if name == "CLUSTER_NAME":
            return "cluster"
        if name in ("FEATURE_GATES", "AWS_FEATURE_GATES"):
            return ",".join(filter(None, map(self._gate, value.split(","))))
        if name == "SCHEDULER_CONFIG":
            return self._scheduler_config(value)
        is_public = value in _POLICY_WORDS or public.QUANTITY.fullmatch(value) or public.DURATION.fullmatch(value)
        return value if is_public else self.values.opaque(value)

    def _gate(self, text: str) -> str:
        name, equals, value = text.partition("=")
        if not name.strip():
            return ""
        gate = name.strip() if name.strip() in public.GATES else self.values.word_for(name)
        return f"{gate}{equals}{value if value.strip() in ('true', 'false') else self.values.opaque(value)}"

    def _scheduler_config(self, value: str) -> str:
        try:
            documents: list[Any] = [read_document(value)]
        except SpreadError:  # invalid documents contain names too
            try:
                documents = load_documents(value.encode("utf-8", "replace"))
            except YamlError:
                return self.values.opaque(value)
        constraints = [self._constraints(document) for document in documents]
        return msgspec.json.encode(constraints[0] if len(constraints) == 1 else constraints).decode()

    def _constraints(self, value: Any) -> Any:
        """Return a scheduler's configuration; its fields may be written in any case."""
        if isinstance(value, Mapping):
            plugin_words = {"defaultconstraints", "podtopologyspread", "maxskew", "whenunsatisfiable", "topologykey"}
            return {
                name: self.values.key(part)
                if name.lower() == "topologykey" and isinstance(part, str)
                else self._constraints(part)
                for name, part in value.items()
                if name.lower() in plugin_words or name in ("apiVersion", "kind", "mindomains", "minDomains")
            }
        if isinstance(value, list | tuple):
            return [self._constraints(part) for part in value]
        return self.values.word(value) if isinstance(value, str) else value

    def _instance_types(self, types: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [self._instance_type(document) for document in types]

    def _instance_type(self, document: Mapping[str, Any]) -> dict[str, Any]:
        item = {
            name: self.objects.redacted_value(part, name)
            for name, part in document.items()
            if name in ("requirements", "capacity", "volumeAttachmentLimits")
        }
        if "overhead" in document:
            item["overhead"] = self._overhead(document["overhead"])
        if "offerings" in document:
            item["offerings"] = [self._offering(part) for part in document["offerings"]]
        return {"name": self.values.name("InstanceType", str(document["name"])), **item}

    def _overhead(self, overhead: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self.objects.redacted_value(part, name) for name, part in overhead.items() if name in AMOUNTS}

    def _offering(self, offering: Mapping[str, Any]) -> dict[str, Any]:
        document = {
            name: self.objects.redacted_value(part, name)
            for name, part in offering.items()
            if name in ("requirements", "capacityOverride") or not isinstance(part, str | list | dict)
        }
        if isinstance(overhead := offering.get("overheadOverride"), Mapping):
            document["overheadOverride"] = self._overhead(overhead)
        return document

    def _policy(self, policy: Mapping[str, Any]) -> dict[str, Any]:
        """Return a repair policy; its expression becomes the reasons in the recording that it matches."""
        document: dict[str, Any] = {name: part for name, part in policy.items() if isinstance(part, int)}
        for name in ("conditionType", "conditionStatus", "action"):
            if name in policy:
                document[name] = self.values.word(policy[name])
        for name in ("tolerationDuration", "terminationGracePeriod"):
            if name in policy:
                document[name] = self.values.unless_public(public.DURATION.fullmatch, policy[name])
        if (regex := policy.get("reasonRegex")) is not None:
            document["reasonRegex"] = regex if regex in _MATCHES_ALL else self._expression_for(str(regex))
        return document

    def _expression_for(self, regex: str) -> str:
        reasons = sorted({self.values.reason(reason) for reason in self.values.reasons if re.search(regex, reason)})
        return f"^({'|'.join(map(re.escape, reasons or [self.values.word_for(regex)]))})$"

    def _reboots(self, history: Mapping[str, Any]) -> dict[str, Any]:
        name = self.values.name
        return {name("NodeClaim", claim): [*map(self._instant, times)] for claim, times in history.items()}

    def _unread(self, kinds: Iterable[str]) -> list[str]:
        return [kind for kind in kinds if kind in {str(kind) for kind in Kind}]

    def _offerings(self, offerings: Mapping[str, Any]) -> dict[str, Any]:
        types = {
            self.values.name("InstanceType", name): [
                [self.values.name("Zone", zone), self.values.word_of_label(capacity_type), *rest]
                for zone, capacity_type, *rest in of_type
            ]
            for name, of_type in offerings["types"].items()
        }
        return {"source": "Karpenter's metrics", "at": self._instant(offerings["at"]), "types": types}

    def _usage(self, usage: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "at": self._instant(usage["at"]),
            "windowNs": usage["windowNs"],
            "nodes": {self.values.name("Node", name): used for name, used in usage["nodes"].items()},
            "pods": {self._object_key("Pod", key): used for key, used in usage["pods"].items()},
        }

    def _evidence(self, evidence: Mapping[str, Any]) -> dict[str, Any]:
        """Return the evidence without messages and without the names of its sources."""
        document: dict[str, Any] = {}
        for field in ("controllerStatus", "metricsStatus"):
            if field in evidence:
                document[field] = _without_sentence(evidence[field])
        if "factStatuses" in evidence:
            document["factStatuses"] = {
                kind: _without_sentence(status) for kind, status in evidence["factStatuses"].items()
            }
        controller = evidence.get("controller", {})
        if controller:
            document["controller"] = {
                "title": _CONTROLLER,
                "namespace": self.values.name("Namespace", controller.get("namespace", "")),
                "version": self.values.version(controller.get("version", "")),
                "unknown": dict.fromkeys(controller.get("unknown", ()), _ELSEWHERE),
                "fromElsewhere": [_ELSEWHERE for _ in controller.get("fromElsewhere", ())],
                "replicas": controller.get("replicas"),
            }
        if "settingOrigins" in evidence:
            title = controller.get("title", "")
            origins = evidence["settingOrigins"].items()
            document["settingOrigins"] = {
                name: _CONTROLLER if origin == title else "another source" for name, origin in origins
            }
        if "othersLabelled" in evidence:
            document["othersLabelled"] = [self._titled(title) for title in evidence["othersLabelled"]]
        if "metrics" in evidence:
            document["metrics"] = self._metrics(evidence["metrics"])
        if "facts" in evidence:
            document["facts"] = self._facts(evidence["facts"])
        return document

    def _metrics(self, metrics: Mapping[str, Any]) -> dict[str, Any]:
        document = {**metrics, "endpoint": _CONTROLLER, "version": self.values.version(metrics.get("version", ""))}
        for field in ("cpuCores", "memoryBytes"):
            if field in metrics:
                document[field] = {
                    self.values.name("InstanceType", name): value for name, value in metrics[field].items()
                }
        for field in ("pools", "podsByPool"):
            if field in metrics:
                document[field] = {self.values.name("NodePool", name): value for name, value in metrics[field].items()}
        return document

    def _facts(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return AWS's answers: facts about a region are public, IDs of the account are not."""
        document = {**facts}
        for field in ("subnets", "reservations"):
            if field in facts:
                of_account = [{**item, "id": self.values.aws_id(item["id"])} for item in facts[field]["value"]]
                document[field] = {**facts[field], "value": of_account}
        return document

    def _titled(self, title: str) -> str:
        """Return ``Deployment shop/web`` with pseudonyms."""
        kind, _, key = title.partition(" ")
        return f"{self.values.word(kind)} {self._object_key(kind, key)}"

    def _object_key(self, kind: str, key: str) -> str:
        namespace, _, name = key.rpartition("/")
        return f"{self.values.name('Namespace', namespace)}/{self.values.name(kind, name)}"

    _OF_DOCUMENT: Final[Mapping[str, Callable[[Redactor, Any], Any]]] = {
        "settings": _settings,
        "karpenterVersion": lambda redactor, version: redactor.values.version(version),
        "instanceTypes": _instance_types,
        "rebootHistory": _reboots,
        "unread": _unread,
        "offerings": _offerings,
        "evidence": _evidence,
        "usage": _usage,
    }


def _without_sentence(status: Mapping[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in status.items() if name != "sentence"}
