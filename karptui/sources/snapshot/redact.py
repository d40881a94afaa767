"""Names into pseudonyms: the same everywhere in a recording, and in every recording made with the same key.

Nothing stays that is not known to be public: the words of Kubernetes, Karpenter and AWS, amounts, times, instance
types, zones (``public_text``). Everything else is a name, which gets a pseudonym that keeps what decides
(``pseudonyms``), or a text of which nothing but its being the same is left. What stays and why is a table in
docs/snapshots.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from karptui.aws.repair_policies import aws_repair_policies
from karptui.decode.kinds import kind_of, may_hold_nodeclasses
from karptui.karpenter.labels import HOSTNAME, KEY_ALIASES, NODEPOOL, WELL_KNOWN
from karptui.karpenter.scheduler_config import SpreadError, read_document
from karptui.karpenter.settings import Settings
from karptui.kube.generated_names import ORIGIN_LABELS, TEMPLATE_HASH
from karptui.kube.yaml_reader import YamlError, load_documents
from karptui.sources.snapshot.pseudonyms import ORIGIN, VALUE, Pseudonyms
from karptui.sources.snapshot.public_text import (
    PUBLIC_KEYS,
    address,
    is_public,
    is_public_domain,
    is_public_key,
    is_schedule,
    masked,
    rewrite,
)

NODE_CLASS: Final = "NodeClass"
NAMES: Final[Mapping[str, str]] = {
    "namespace": "Namespace",
    "namespaces": "Namespace",
    "nodeName": "Node",
    "nominatedNodeName": "Node",
    "priorityClassName": "PriorityClass",
    "storageClassName": "StorageClass",
    "serviceAccountName": "ServiceAccount",
    "serviceAccount": "ServiceAccount",
    "schedulerName": "Scheduler",
    "runtimeClassName": "RuntimeClass",
    "volumeName": "PersistentVolume",
    "claimName": "PersistentVolumeClaim",
}
"""Fields that name an object, with its kind."""
KEPT_FIELDS: Final = frozenset({"zone", "zoneID", "availabilityZone", "instanceType", "price", "priceAdjustment"})
"""Fields whose text decides and is public by its meaning."""
_NAMED: Final[Mapping[str, str]] = {
    "containers": "Container",
    "initContainers": "Container",
    "containerStatuses": "Container",
    "initContainerStatuses": "Container",
    "volumes": "Volume",
    "nodeClassRef": NODE_CLASS,
    "podTemplateRef": "PodTemplate",
    "claimRef": "PersistentVolumeClaim",
}
"""What ``name`` names in the parts of these fields, where no ``kind`` beside it says."""
_REFERENCES: Final = frozenset(
    {"ownerReferences", "involvedObject", "regarding", "related", "claimRef", "nodeClassRef", "scalableRef"}
    | {"podTemplateRef", "scaleTargetRef"}
)
_LABELS: Final = frozenset({"labels", "matchLabels", "nodeSelector", "tags"})
_AMOUNTS: Final = frozenset(
    {"capacity", "allocatable", "requests", "limits", "overhead", "allocatedResources", "kubeReserved", "evictionHard"}
    | {"systemReserved", "evictionThreshold", "evictionSoft", "evictionSoftGracePeriod", "volumeAttachmentLimits"}
)
_KEYS: Final = frozenset({"topologyKey", "topologyKeys", "matchLabelKeys", "mismatchLabelKeys", "finalizers"})
_WHOLE: Final[Mapping[str, str]] = {
    "role": "role",
    "instanceProfile": "profile",
    "image": "image",
    "ssmParameter": "parameter",
    "kmsKeyID": "key",
}
"""Fields of which nothing but their being the same matters, with what stands for them."""
_NAME_LABELS: Final[Mapping[str, str]] = {
    NODEPOOL: "NodePool",
    HOSTNAME: "Node",
    "metadata.name": "Node",
    "kubernetes.io/metadata.name": "Namespace",
    "statefulset.kubernetes.io/pod-name": "Pod",
    "batch.kubernetes.io/job-name": "Job",
    "job-name": "Job",
}
"""Labels and fields whose values name objects."""
_COMPARISONS: Final = frozenset({"Gt", "Lt", "Gte", "Lte"})
_INTEGER: Final = re.compile(r"-?\d{1,19}")
_LABEL: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
"""What Kubernetes takes for a label's value; what it does not take stays something that it does not."""
_QUANTITY: Final = re.compile(r"[+-]?[\d.]+([eE][+-]?\d+|[numkMGTPE]i?|Ki|%)?")
_CEL: Final = re.compile(r"[\w\s.+*/%()<>=!?:,&|-]+")
_FAMILY: Final = re.compile(r"[a-z]{1,4}\d[a-z0-9.-]*")
"""How the name of an instance type begins."""
_QUOTED: Final = re.compile(r"\"[^\"]*\"|'[^']*'")
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_KUBELET_LINE: Final = re.compile(
    r"max-?pods|kubelet|eviction|reserved|pods-?per-?core|apiVersion|kind:|^\s*(spec|config|flags):|^\s*\[settings",
    re.IGNORECASE,
)


_CONTROLLER: Final = "Karpenter's Deployment"
_ELSEWHERE: Final = "another object"
_IN_METRICS: Final = ("cpu", "memory", "pods", "nodes", "ephemeral_storage")
"""Resources as Karpenter's metrics spell them; extended ones are left out."""


class Redactor:
    """Replaces what identifies a cluster and its owner."""

    def __init__(self, key: bytes) -> None:
        """Set up.

        Args:
            key: makes the pseudonyms; who does not have it cannot try out names.
        """
        self._pseudonyms = Pseudonyms(key)
        self._is_learning = False
        self._keys: dict[str, str] = {}
        self._stays: set[str] = set()
        self._compared: set[str] = set()
        self._conditions: tuple[frozenset[str], tuple[re.Pattern[str], ...]] = (frozenset(), ())
        self._known: dict[str, str] = {}

    def redact(self, objects: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the objects with pseudonyms; all objects of a recording must be given at once."""
        given: list[dict[str, Any]] = self.redact_document({"objects": list(objects)})["objects"]
        return given

    def redact_document(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return a recording with pseudonyms."""
        self._conditions = _watched(document)
        self._is_learning = True
        self._document(document)
        self._is_learning = False
        self._pseudonyms.settle()
        return self._document(document)

    # What the rewriting of texts asks

    def named(self, kind: str, name: str) -> str | None:
        """Return the pseudonym of what is called so; of the kind, or of any where the kind is empty."""
        if not kind:
            return self._pseudonyms.anywhere(name)
        return self._pseudonyms.of(kind, name) if self._pseudonyms.knows(kind, name) else None

    def stays(self, word: str) -> bool:
        """Return whether a word is the value of a well-known label: a type, a zone."""
        return word in self._stays

    def key(self, key: str) -> str | None:
        """Return the pseudonym of a label's key that stands somewhere in the recording."""
        return self._keys.get(key)

    def opaque(self, text: str, prefix: str = "x") -> str:
        """Return what stands for any other text."""
        return self._pseudonyms.opaque(text, prefix)

    def digest(self, text: str) -> bytes:
        """Return bytes made of a text."""
        return self._pseudonyms.digest(text)

    # Parts of a recording

    def _document(self, document: Mapping[str, Any]) -> dict[str, Any]:
        made = dict(document)
        if "name" in made:
            made["name"] = "redacted"
        if "settings" in made:
            made["settings"] = {name: self._setting(name, value) for name, value in made["settings"].items()}
        if made.get("rebootHistory"):
            made["rebootHistory"] = {
                self._name("NodeClaim", name): times for name, times in made["rebootHistory"].items()
            }
        if made.get("instanceTypes") is not None:
            made["instanceTypes"] = [self._instance_type(one) for one in made["instanceTypes"]]
        if "evidence" in made:
            made["evidence"] = self._evidence(made["evidence"])
        if "usage" in made:
            made["usage"] = {
                **made["usage"],
                "nodes": {self._name("Node", name): used for name, used in made["usage"]["nodes"].items()},
                "pods": {self._object_key("Pod", key): used for key, used in made["usage"]["pods"].items()},
            }
        made["objects"] = [self._object(one) for one in made.get("objects", ())]
        return made

    def _setting(self, name: str, value: str) -> str:
        if name == "CLUSTER_NAME":
            return "cluster"
        if name != "SCHEDULER_CONFIG":
            return self._text(value)
        try:
            documents: list[Any] = [read_document(value)]
        except SpreadError:  # what Karpenter refuses holds names all the same
            try:
                documents = load_documents(value.encode("utf-8", "replace"))
            except YamlError:
                return self._text(value)
        made = [self._any(one, "", "") for one in documents]
        return msgspec.json.encode(made[0] if len(made) == 1 else made).decode()

    def _evidence(self, evidence: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is known beside the objects without sentences, and without the names of who answered."""
        made = {**evidence}
        for field in ("controllerStatus", "metricsStatus"):
            if field in made:
                made[field] = _without(made[field], "sentence")
        if "factStatuses" in made:
            made["factStatuses"] = {kind: _without(one, "sentence") for kind, one in made["factStatuses"].items()}
        title = str(made.get("controller", {}).get("title", ""))
        if "controller" in made:
            unknown = dict.fromkeys(made["controller"].get("unknown", ()), _ELSEWHERE)
            elsewhere = [_ELSEWHERE for _ in made["controller"].get("fromElsewhere", ())]
            version = made["controller"].get("version", "")
            made["controller"] = {
                "title": _CONTROLLER,
                "version": version,
                **({"unknown": unknown} if unknown else {}),
                **({"fromElsewhere": elsewhere} if elsewhere else {}),
            }
        if "settingOrigins" in made:
            made["settingOrigins"] = {
                name: _CONTROLLER if origin == title else "another source"
                for name, origin in made["settingOrigins"].items()
            }
        if "othersLabelled" in made:
            made["othersLabelled"] = [self._titled(one) for one in made["othersLabelled"]]
        if "metrics" in made:
            made["metrics"] = self._metrics(made["metrics"])
        if "facts" in made:
            made["facts"] = self._any(made["facts"], "facts", "")
        return made

    def _metrics(self, metrics: Mapping[str, Any]) -> dict[str, Any]:
        made = {**metrics, "endpoint": _CONTROLLER}
        for field in ("pools", "podsByPool"):
            if field in made:
                made[field] = {
                    self._name("NodePool", name): {**one} if field == "pools" else one
                    for name, one in made[field].items()
                }
        for pool in made.get("pools", {}).values():
            for field in ("usage", "limit"):
                if field in pool:
                    pool[field] = {name: pool[field][name] for name in _IN_METRICS if name in pool[field]}
        return made

    def _titled(self, title: str) -> str:
        """Return ``Deployment shop/web`` with pseudonyms."""
        kind, _, key = title.partition(" ")
        return f"{kind} {self._object_key(kind, key)}"

    def _object_key(self, kind: str, key: str) -> str:
        namespace, _, name = key.rpartition("/")
        return f"{self._name('Namespace', namespace)}/{self._name(kind, name)}"

    def _instance_type(self, one: Mapping[str, Any]) -> dict[str, Any]:
        self._stays.add(str(one["name"]))
        return {key: value if key == "name" else self._any(value, key, "") for key, value in one.items()}

    def _object(self, one: Mapping[str, Any]) -> dict[str, Any]:
        api_version, kind = str(one.get("apiVersion", "")), str(one.get("kind", ""))
        known = kind_of(api_version, kind)
        made: dict[str, Any] = {}
        for field, value in one.items():
            if field in ("apiVersion", "kind") and known is not None:
                made[field] = value if field == "kind" or is_public(api_version) else self._group(api_version)
            elif field == "metadata":
                made[field] = self._any(value, field, _class_of(kind))
            else:
                made[field] = self._any(value, field, "")
        if self._is_learning and kind == "Pod":
            self._learn_volumes(one)
        return made

    def _group(self, api_version: str) -> str:
        """Return what stands for the API version of somebody's own NodeClasses."""
        group, _, version = api_version.rpartition("/")
        return (
            f"karpenter.{self._pseudonyms.word(group)}.example/{version}"
            if may_hold_nodeclasses(group)
            else api_version
        )

    def _learn_volumes(self, pod: Mapping[str, Any]) -> None:
        for volume in (pod.get("spec") or {}).get("volumes") or ():
            if volume.get("ephemeral") is not None:
                name = str((pod.get("metadata") or {}).get("name", ""))
                self._pseudonyms.learn_ephemeral(name, str(volume.get("name", "")))

    # Values

    def _any(self, value: Any, field: str, kind: str) -> Any:
        """Return a value with pseudonyms.

        Args:
            value: what is there.
            field: the field it stands in, itself or as part of a list.
            kind: what ``name`` in it names, empty where nothing says.
        """
        if isinstance(value, Mapping):
            return self._mapping(value, field, kind)
        if isinstance(value, list | tuple):
            return [self._any(part, field, kind) for part in value]
        return self._field(field, value) if isinstance(value, str) else value

    def _mapping(self, value: Mapping[str, Any], field: str, kind: str) -> dict[str, Any]:
        texts = all(isinstance(part, str | int | float | None) for part in value.values())
        if texts and (field in _LABELS or (field == "selector" and not _is_selector(value))):
            return {self._key(key): self._label(key, part) for key, part in value.items()}
        if texts and (field in _AMOUNTS or field == "resources"):
            rename = self._driver if field == "volumeAttachmentLimits" else self._key
            return {rename(key): self._amount(part) for key, part in value.items()}
        if field == "annotations":
            return {self._key(key): self._field("", part) for key, part in value.items()}
        kind = kind or _NAMED.get(field, "")
        if field in _REFERENCES and isinstance(value.get("kind"), str):
            kind = _class_of(value["kind"])
        label = value.get("key")
        if value.get("operator") in _COMPARISONS:
            self._compared.add(str(label))
        made: dict[str, Any] = {}
        for name, part in value.items():
            if name == "name" and isinstance(part, str):
                made[name] = self._called(part, field, kind)
            elif isinstance(label, str) and name in ("key", "value", "values"):
                made[name] = self._of_label(label, name, part)
            elif name == "apiVersion" and isinstance(part, str) and is_public_domain(part.rpartition("/")[0]):
                made[name] = part
            else:
                made[name if is_public(name) else self._key(name)] = self._any(part, name, "")
        return made

    def _called(self, name: str, field: str, kind: str) -> str:
        if kind:
            return self._name(kind, name)
        return self._driver(name) if field == "drivers" else self._field("name", name, is_name=True)

    def _of_label(self, key: str, field: str, value: Any) -> Any:
        if field == "key":
            return self._key(key)
        if isinstance(value, list | tuple):
            return [self._label(key, one) for one in value]
        return self._label(key, value)

    def _key(self, key: str) -> str:
        """Return the pseudonym of a label's key, a resource or the like; well-known ones stay, and public domains."""
        if is_public_key(key):
            return key
        made = self._keys.get(key)
        if made is None:
            domain, slash, _ = key.partition("/")
            own = domain if is_public_domain(domain) else f"{self._pseudonyms.word(domain)}.example"
            word = (
                f"k-{self._pseudonyms.word(key)}" if _is_well_formed(key) else f"malformed {self._pseudonyms.word(key)}"
            )
            made = f"{own}/{word}" if slash else word
            self._keys[key] = made
        return made

    def _label(self, key: str, value: Any) -> Any:
        if not isinstance(value, str) or value in ("", "*"):
            return value
        kind = _NAME_LABELS.get(key) or (NODE_CLASS if key.endswith("nodeclass") and key in PUBLIC_KEYS else "")
        if kind:
            return self._name(kind, value)
        if key in WELL_KNOWN or key in KEY_ALIASES or key in KEY_ALIASES.values():
            if self._is_learning:
                self._stays.add(value)
            return masked(value, self)
        if key in self._compared and _INTEGER.fullmatch(value):
            return value
        if self._is_learning and key == TEMPLATE_HASH:
            self._pseudonyms.learn_hash(value)
        made = self._name(ORIGIN if key in ORIGIN_LABELS else VALUE, value)
        return made if _LABEL.fullmatch(value) or self._is_learning else f"{made}-"

    def _name(self, kind: str, name: str) -> str:
        if not name:
            return name
        if self._is_learning:
            self._pseudonyms.learn(kind, name)
            return name
        return self._pseudonyms.of(kind, name)

    def _field(self, field: str, value: Any, *, is_name: bool = False) -> Any:
        if not isinstance(value, str) or not value:
            return value
        if field in NAMES:
            return self._name(NAMES[field], value)
        if field == "uid":
            return value if _UUID.fullmatch(value) else self._name("Uid", value)
        if self._is_learning:
            return value
        if field in _KEYS:
            return self._key(value)
        if field in _WHOLE:
            return self.opaque(value, _WHOLE[field])
        rule = self._RULES.get(field)
        if rule is not None:
            return rule(self, value)
        if is_name:
            found = self.named("", value)
            return found or (value if value == "*" else self.opaque(value))
        return self._text(value)

    def _text(self, text: str) -> str:
        if self._is_learning:
            return text
        made = self._known.get(text)
        if made is None:
            made = self._known[text] = rewrite(text, self)
        return made

    def _amount(self, value: Any) -> Any:
        return value if isinstance(value, str) and _QUANTITY.fullmatch(value) else self._field("", value)

    # Fields with a rule of their own

    def _kept(self, value: str) -> str:
        return masked(value, self)

    def _driver(self, value: str) -> str:
        """Return what a volume driver is called: those of Kubernetes and the clouds stay."""
        return value if is_public(value) else self.opaque(value, "driver")

    def _expression(self, value: str) -> str:
        """Return a CEL expression as it is where it holds nothing but numbers, known words and instance types."""
        plain = _QUOTED.sub(" ", value)
        texts = (text[1:-1] for text in _QUOTED.findall(value))
        is_known = all(is_public(text) or _FAMILY.fullmatch(text) for text in texts)
        return value if is_known and _CEL.fullmatch(plain) and is_public(plain) else self._text(value)

    def _schedule(self, value: str) -> str:
        return value if is_schedule(value) else self._text(value)

    def _address(self, value: str) -> str:
        """Return an address; a name of DNS is that of the node, or nobody's."""
        return address(value, self) or self.named("Node", value) or self.opaque(value, "host")

    def _generate_name(self, value: str) -> str:
        stem = value.rstrip("-")
        return f"{self.named('', stem) or self.opaque(stem)}{value[len(stem) :]}"

    def _condition_type(self, value: str) -> str:
        return value if value in self._conditions[0] or is_public(value) else self.opaque(value, "X")

    def _reason(self, value: str) -> str:
        if is_public(value) or any(pattern.search(value) for pattern in self._conditions[1]):
            return value
        return self.opaque(value, "X")

    def _user_data(self, value: str) -> str:
        """Return the lines that say what the kubelet is started with; the rest may be anything."""
        return self._text("\n".join(line for line in value.splitlines() if _KUBELET_LINE.search(line)))

    _RULES: Final[Mapping[str, Callable[[Redactor, str], str]]] = {
        **dict.fromkeys(KEPT_FIELDS, _kept),
        "provisioner": _driver,
        "driver": _driver,
        "schedule": _schedule,
        "maxPods": _expression,
        "address": _address,
        "host": _address,
        "generateName": _generate_name,
        "type": _condition_type,
        "reason": _reason,
        "userData": _user_data,
    }


def _class_of(kind: str) -> str:
    """Return what names of a kind are kept as: NodeClasses are one kind, and a CSINode is called like its Node."""
    return NODE_CLASS if kind.endswith(NODE_CLASS) else "Node" if kind == "CSINode" else kind


def _is_well_formed(key: str) -> bool:
    """Return whether the API server takes a key; one with two slashes is a tag's."""
    return _LABEL.fullmatch(key.rpartition("/")[2]) is not None


def _without(value: Mapping[str, Any], field: str) -> dict[str, Any]:
    return {name: part for name, part in value.items() if name != field}


def _is_selector(value: Mapping[str, Any]) -> bool:
    return "matchLabels" in value or "matchExpressions" in value


def _watched(document: Mapping[str, Any]) -> tuple[frozenset[str], tuple[re.Pattern[str], ...]]:
    """Return the conditions that repair policies look at, and what they look for in reasons."""
    policies = document.get("repairPolicies")
    if policies is None:
        wanted = [(one.condition_type, one.reason_regex) for one in aws_repair_policies(Settings())]
    else:
        wanted = [(str(one.get("conditionType", "")), str(one.get("reasonRegex", ""))) for one in policies]
    patterns = (re.compile(regex) for _, regex in wanted if regex)
    return frozenset(one for one, _ in wanted), tuple(one for one in patterns if one.search("") is None)
