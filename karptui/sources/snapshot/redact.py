"""Names into pseudonyms: the same everywhere in a recording, and in every recording made with the same key.

Replaced are the names of objects, namespaces, owners and containers, images, values of labels that are not well known,
domains of label keys, IP addresses, and the ids and accounts of AWS. Amounts, instance types, zones, times, UIDs and
everything else that decides something stay. NodePools, nodes and NodeClaims keep their order, which breaks ties: their
pseudonyms have their place in it, and only what follows the place is the same in every recording.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from karptui.karpenter.labels import HOSTNAME, NODE_CLASS, NODEPOOL, WELL_KNOWN

PUBLIC_DOMAINS: Final = ("kubernetes.io", "k8s.io", "k8s.aws", "karpenter.sh", "amazonaws.com", "amazon.com")
PUBLIC_NAMES: Final = frozenset(
    {"default", "kube-system", "kube-public", "kube-node-lease", "karpenter", "system-node-critical"}
    | {"system-cluster-critical", "default-scheduler", "true", "false", "linux", "windows", "spot", "on-demand"}
)
_NAME_LABELS: Final = frozenset({NODEPOOL, NODE_CLASS, HOSTNAME})
"""Well-known labels whose values are names all the same."""
_PREFIXES: Final = {"Namespace": "ns", "Deployment": "deploy", "DaemonSet": "ds", "StatefulSet": "sts"}
_ORDERED: Final = {"NodePool": "pool", "Node": "node", "NodeClaim": "claim"}
_KEEP: Final = frozenset(
    {"apiVersion", "kind", "uid", "operator", "effect", "phase", "reason", "status", "type", "topologyKey", "resource"}
)
"""Fields whose text is part of the API, or orders things."""
_TOKEN: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_ADDRESS: Final = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b")
_AWS_ID: Final = re.compile(r"\b(i|ami|subnet|sg|vpc|eni|vol|lt|cr|pg|igw|rtb)-([0-9a-f]{8,17})\b")
_ACCOUNT: Final = re.compile(r"\b\d{12}\b")
_ROLE: Final = frozenset({"role", "instanceProfile", "arn"})
_KUBELET_LINE: Final = re.compile(r"max-?pods|kubelet|eviction|reserved|podsPerCore|apiVersion|kind:", re.IGNORECASE)


class Redactor:
    """Replaces what identifies a cluster and its owner."""

    def __init__(self, key: bytes) -> None:
        """Set up.

        Args:
            key: makes the pseudonyms; who does not have it cannot try out names.
        """
        self._key = key
        self._names: dict[str, str] = {}

    def redact(self, objects: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the objects with pseudonyms; all objects of a recording must be given at once."""
        given = list(objects)
        self._learn(given)
        return [self._mapping(one) for one in given]

    def text(self, text: str) -> str:
        """Return a text with every known name in it replaced, and every address and id."""
        known = self._names.get(text)
        if known is not None:
            return known
        text = _AWS_ID.sub(lambda match: f"{match[1]}-{self._digest(match[0])[: len(match[2])]}", text)
        text = _TOKEN.sub(lambda match: self._names.get(match[0], match[0]), text)
        text = _ADDRESS.sub(self._address, text)
        return _ACCOUNT.sub(lambda _: "000000000000", text)

    # Learning what is a name

    def _learn(self, objects: list[Mapping[str, Any]]) -> None:
        reserved = PUBLIC_NAMES | {value for one in objects for value in _well_known_values(one)}
        for kind, prefix in _ORDERED.items():
            names = sorted({_name(one) for one in objects if one.get("kind") == kind} - {""})
            places = len(str(len(names)))
            for place, name in enumerate(names):
                # Even a pool called default gets its place, else the order would not hold.
                self._names.setdefault(name, f"{prefix}-{place:0{places}d}-{self._digest(name)[:8]}")
        for one in objects:
            for prefix, name in _names_in(one):
                if name and name not in reserved and name not in self._names and not name.isdigit():
                    self._names[name] = f"{prefix}-{self._digest(name)[:8]}"
        for domain in {key.partition("/")[0] for one in objects for key in _keys_in(one) if "/" in key}:
            if not any(domain == public or domain.endswith(f".{public}") for public in PUBLIC_DOMAINS):
                self._names[domain] = f"d{self._digest(domain)[:8]}.example"
        for pod, volume in (pair for one in objects for pair in _ephemeral_volumes(one)):
            # Its claim is found by its name: the pod's and the volume's.
            self._names[f"{pod}-{volume}"] = f"{self._names.get(pod, pod)}-{self.text(volume)}"

    def _digest(self, text: str) -> str:
        return hmac.new(self._key, text.encode("utf-8", "surrogatepass"), "sha256").hexdigest()

    def _address(self, match: re.Match[str]) -> str:
        first, second, third = (int(self._digest(match[0])[at : at + 2], 16) for at in (0, 2, 4))
        return f"10.{first}.{second}.{third}"

    # Replacing

    def _mapping(self, value: Mapping[str, Any]) -> dict[str, Any]:
        return {self.text(key) if "/" in key else key: self._field(key, part) for key, part in value.items()}

    def _field(self, name: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, list):
            return [self._field(name, part) for part in value]
        if not isinstance(value, str) or name in _KEEP:
            return value
        if name in _ROLE:
            return f"{name}-{self._digest(value)[:8]}"
        if name == "image":
            return f"image-{self._digest(value)[:8]}"
        if name == "userData":
            # The lines that say what the kubelet is started with; the rest may be anything.
            return "\n".join(line for line in self.text(value).splitlines() if _KUBELET_LINE.search(line))
        return self.text(value)


def _name(manifest: Mapping[str, Any]) -> str:
    metadata = manifest.get("metadata")
    return str(metadata.get("name", "")) if isinstance(metadata, Mapping) else ""


def _names_in(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Return what names something in an object, each with what a pseudonym of it begins with."""
    kind = str(manifest.get("kind", ""))
    metadata = manifest.get("metadata") or {}
    if kind not in ("StorageClass", "PriorityClass", "CSINode"):
        yield _PREFIXES.get(kind, kind.lower() or "x"), _name(manifest)
    yield "ns", str(metadata.get("namespace", ""))
    yield kind.lower(), str(metadata.get("generateName", "")).rstrip("-")
    for owner in metadata.get("ownerReferences") or ():
        yield str(owner.get("kind", "x")).lower(), str(owner.get("name", ""))
    for key, value in _labels_in(manifest):
        if isinstance(value, str) and (key not in WELL_KNOWN or key in _NAME_LABELS):
            domain = key.partition("/")[0] if "/" in key else ""
            if key in _NAME_LABELS or not domain.endswith(PUBLIC_DOMAINS):
                yield "v", value
    for part in _walk(manifest):
        if isinstance(part.get("image"), str):
            yield "c", str(part.get("name", ""))
        if isinstance(part.get("tags"), Mapping):
            yield from (("v", value) for value in part["tags"].values() if isinstance(value, str) and value != "*")
        yield from (("sg", str(group.get("name", ""))) for group in part.get("securityGroups") or ())
        yield "node", str(part.get("nodeName") or "")


def _labels_in(manifest: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Return keys and values of labels, selectors, requirements, taints and tolerations."""
    for part in _walk(manifest):
        for field in ("labels", "nodeSelector", "matchLabels", "tags"):
            if isinstance(part.get(field), Mapping):
                yield from part[field].items()
        key = part.get("key")
        if isinstance(key, str):
            yield key, part.get("value")
            yield from ((key, value) for value in part.get("values") or ())


def _keys_in(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Return keys of labels and annotations, wherever they stand."""
    yield from (key for key, _ in _labels_in(manifest))
    for part in _walk(manifest):
        if isinstance(part.get("annotations"), Mapping):
            yield from part["annotations"]
        yield from (part[name] for name in ("topologyKey",) if isinstance(part.get(name), str))


def _well_known_values(manifest: Mapping[str, Any]) -> Iterator[str]:
    for key, value in _labels_in(manifest):
        if key in WELL_KNOWN and key not in _NAME_LABELS and isinstance(value, str):
            yield value


def _ephemeral_volumes(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if manifest.get("kind") == "Pod":
        for volume in (manifest.get("spec") or {}).get("volumes") or ():
            if volume.get("ephemeral") is not None:
                yield _name(manifest), str(volume.get("name", ""))


def _walk(value: Any) -> Iterator[Mapping[str, Any]]:
    """Return every mapping in a value, itself included."""
    if isinstance(value, Mapping):
        yield value
        for part in value.values():
            yield from _walk(part)
    elif isinstance(value, list):
        for part in value:
            yield from _walk(part)
