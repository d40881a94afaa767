"""What of a text says nothing about whose cluster it is: the words of Kubernetes, Karpenter and AWS, and amounts."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from ipaddress import ip_address, ip_network
from typing import Final, Protocol

from karptui.karpenter.labels import KEY_ALIASES, NODE_CLASS, NODEPOOL, WELL_KNOWN
from karptui.kube.generated_names import ORIGIN_LABELS

PUBLIC_DOMAINS: Final = (
    "kubernetes.io",
    "k8s.io",
    "k8s.aws",
    "karpenter.sh",
    "amazonaws.com",
    "amazon.com",
    "nvidia.com",
    "amd.com",
    "intel.com",
    "google.com",
)
"""Domains of label keys and resources that are not somebody's own."""
PUBLIC_KEYS: Final = frozenset(
    {
        *WELL_KNOWN,
        *KEY_ALIASES,
        *KEY_ALIASES.values(),
        *ORIGIN_LABELS,
        NODEPOOL,
        NODE_CLASS,
        "kubernetes.io/hostname",
        "kubernetes.io/metadata.name",
        "metadata.name",
        "karpenter.sh/registered",
        "karpenter.sh/initialized",
        "karpenter.sh/unregistered",
        "karpenter.sh/disrupted",
        "karpenter.sh/rebooting",
        "karpenter.sh/do-not-disrupt",
        "karpenter.sh/do-not-repair",
        "karpenter.sh/disruption-cost",
        "karpenter.sh/discovery",
        "karpenter.sh/termination",
        "karpenter.sh/nodepool-hash",
        "karpenter.sh/nodepool-hash-version",
        "karpenter.sh/nodeclaim-termination-timestamp",
        "karpenter.sh/nodeclaim-min-values-relaxed",
        "karpenter.k8s.aws/ec2nodeclass-hash",
        "karpenter.k8s.aws/ec2nodeclass-hash-version",
        "karpenter.k8s.aws/termination",
        "eks.amazonaws.com/nodeclass",
        "eks.amazonaws.com/capacityType",
        "eks.amazonaws.com/nodegroup",
        "eks.amazonaws.com/compute-type",
        "k8s.io/cloud-provider-aws",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/memory-pressure",
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/pid-pressure",
        "node.kubernetes.io/network-unavailable",
        "node.kubernetes.io/out-of-service",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node-role.kubernetes.io/control-plane",
        "node-role.kubernetes.io/master",
        "CriticalAddonsOnly",
        "pv.kubernetes.io/bind-completed",
        "kubernetes.io/pvc-protection",
        "kubernetes.io/pv-protection",
        "kubernetes.io/config.mirror",
        "cluster-autoscaler.kubernetes.io/safe-to-evict",
        "controller.kubernetes.io/pod-deletion-cost",
        "controller-revision-hash",
        "controller-uid",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-completion-index",
        "batch.kubernetes.io/job-name",
        "job-name",
        "pod-template-generation",
        "pod-template-hash",
        "statefulset.kubernetes.io/pod-name",
        "apps.kubernetes.io/pod-index",
        "app",
        "k8s-app",
        "app.kubernetes.io/component",
        "app.kubernetes.io/instance",
        "app.kubernetes.io/managed-by",
        "app.kubernetes.io/name",
        "app.kubernetes.io/part-of",
        "app.kubernetes.io/version",
        "helm.sh/chart",
        "Name",
        "count",
        "nodes",
        "cpu",
        "memory",
        "pods",
        "ephemeral-storage",
        "storage",
        "nvidia.com/gpu",
        "amd.com/gpu",
        "aws.amazon.com/neuron",
        "aws.amazon.com/neuroncore",
        "aws.amazon.com/neurondevice",
        "habana.ai/gaudi",
        "vpc.amazonaws.com/efa",
        "vpc.amazonaws.com/pod-eni",
        "vpc.amazonaws.com/PrivateIPv4Address",
        "intel.com/cpu",
    }
)
"""Keys of labels, taints, annotations, finalizers, tags and resources that stay."""
_PUBLIC_KEY: Final = re.compile(
    r"hugepages-\d+[KMGT]i|attachable-volumes-[a-z-]+|(?:memory|nodefs|imagefs|pid)\.[a-zA-Z]+"
)

_NUMBER: Final = re.compile(
    r"[+-]?(\d{1,11}(\.\d*)?|\.\d+)(e[+-]?\d+)?([numkKMGTPE]i?|%|vCPU|GiB|MiB|h/?|x)?|[+-]?(inf(inity)?|nan)",
    re.IGNORECASE,
)
_DURATION: Final = re.compile(r"[+-]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h|d|w|y))+")
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_VERSION: Final = re.compile(r"v?\d+(\.\d+){1,3}(-eks-[0-9a-f]{7})?|v\d{8}")
_INSTANCE_TYPE: Final = re.compile(r"[a-z]+\d+[a-z-]*\.(\d*xlarge|nano|micro|small|medium|large|metal(-\d+xl)?)")
_ZONE: Final = re.compile(r"(us|eu|ap|sa|ca|af|me|il|mx|cn)(-gov)?-(north|south|east|west|central)+\w*-\d[a-z]?")
_ZONE_ID: Final = re.compile(r"(us|eu|ap|sa|ca|af|me|il|mx|cn)g?[nsewc]{1,2}\d-az\d")
_ALIAS: Final = re.compile(r"(al2|al2023|bottlerocket|windows\d{4})@(latest|v?[\d.]+)")
_DEVICE: Final = re.compile(r"/dev/(sd|xvd)[a-z]{1,2}\d?|/dev/nvme\d+n\d+")
_SHAPES: Final = (_DEVICE, _NUMBER, _DURATION, _INSTANT, _VERSION, _INSTANCE_TYPE, _ZONE, _ZONE_ID, _ALIAS)
_ATOM: Final = re.compile(r"[^\W_]+")
_CAMEL: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_CRON_FIELD: Final = re.compile(
    r"[\d*/,?LW#-]+|(\d|[*/,-]|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)+",
    re.IGNORECASE,
)
_CRON_ZONE: Final = re.compile(r"(CRON_)?TZ=[A-Za-z0-9_+/-]+")


@cache
def _words() -> frozenset[str]:
    text = resources.files("karptui.sources.snapshot").joinpath("public_words.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


def is_public_key(key: str) -> bool:
    """Return whether a key of a label, resource or the like is not somebody's own."""
    if key in PUBLIC_KEYS or _PUBLIC_KEY.fullmatch(key) is not None:
        return True
    domain, slash, name = key.partition("/")
    return bool(slash) and is_public_domain(domain) and "/" not in name and is_public(name)


def is_public_domain(domain: str) -> bool:
    """Return whether a domain is not somebody's own."""
    return any(domain == public or domain.endswith(f".{public}") for public in PUBLIC_DOMAINS)


def is_public(word: str) -> bool:
    """Return whether a word says nothing of whose cluster it is: words that are known, amounts, types, zones."""
    return _has_shape(word) or (len(word) == 1 and word.isascii()) or all(map(_is_public_atom, _ATOM.findall(word)))


def _has_shape(word: str) -> bool:
    """Return whether a word is an amount, an instant, a version, an instance type or a zone."""
    return any(shape.fullmatch(word) for shape in _SHAPES)


def _is_common(word: str) -> bool:
    """Return whether a word that is also a name rather means what everybody means by it."""
    return is_public(word) and (_has_shape(word) or not any(map(str.isdecimal, word)))


def _is_public_atom(atom: str) -> bool:
    if atom.isdecimal():
        return len(atom) <= 11
    if atom.lower() in _words():
        return True
    parts = _CAMEL.findall(atom)
    return "".join(parts) == atom and all(part.isdecimal() or part.lower() in _words() for part in parts)


def is_schedule(text: str) -> bool:
    """Return whether a text is a cron schedule and nothing else."""
    fields = text.split()
    if fields and _CRON_ZONE.fullmatch(fields[0]):
        fields = fields[1:]
    return len(fields) in (5, 6) and all(map(_CRON_FIELD.fullmatch, fields))


class Names(Protocol):
    """Where pseudonyms come from."""

    def named(self, kind: str, name: str) -> str | None:
        """Return the pseudonym of what is called so; of the kind, or of any where the kind is empty."""
        ...

    def stays(self, word: str) -> bool:
        """Return whether a word is one that stays in this recording, such as the name of a zone."""
        ...

    def key(self, key: str) -> str | None:
        """Return the pseudonym of a label's key that stands somewhere in the recording."""
        ...

    def opaque(self, text: str, prefix: str = "x") -> str:
        """Return what stands for any other text."""
        ...

    def digest(self, text: str) -> bytes:
        """Return bytes made of a text."""
        ...


_ARN: Final = re.compile(r"arn:[^\s\"'`,;()\[\]]+")
_AWS_ID: Final = re.compile(
    r"(i|ami|subnet|sg|vpc|eni|vol|lt|cr|pg|igw|rtb|snap|eipalloc|fleet|sir|key|nat|acl|vpce)-([0-9a-f]{8,17})"
)
_HOST_OF_ADDRESS: Final = re.compile(r"(ip|ec2)-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}")
_ACCOUNT: Final = re.compile(r"(?<!\d)\d{12}(?!\d)")
_TOKEN: Final = re.compile(r"[^\s\"'`()\[\]{}<>,;|]+")
_PARTS: Final = re.compile(r"([/=:@&?#!%$~^*\\]+)")
_END: Final = re.compile(r"[.:!?=/]+$")
_KINDS: Final = {
    "node": "Node",
    "nodeclaim": "NodeClaim",
    "nodepool": "NodePool",
    "pod": "Pod",
    "ec2nodeclass": "NodeClass",
    "persistentvolumeclaim": "PersistentVolumeClaim",
    "pdb": "PodDisruptionBudget",
    "daemonset": "DaemonSet",
    "statefulset": "StatefulSet",
    "deployment": "Deployment",
    "replicaset": "ReplicaSet",
    "job": "Job",
}
_UNSPECIFIED: Final = frozenset({"0.0.0.0", "::", "127.0.0.1", "::1"})  # noqa: S104 - a host port's wildcard, compared


def rewrite(text: str, names: Names) -> str:
    """Return a text in which everything that is not public has given way to a pseudonym."""
    text = _ARN.sub(lambda match: names.opaque(match[0], "arn"), text)
    return _TOKEN.sub(lambda match: _token(match, names), text)


def masked(text: str, names: Names) -> str:
    """Return a value that stays as it is, but for ids and accounts of AWS in it."""
    found = _AWS_ID.fullmatch(text)
    return _identifier(found, names) if found is not None else _ACCOUNT.sub("000000000000", text)


def address(text: str, names: Names) -> str | None:
    """Return what stands for an IP address or a network, None where a text is neither."""
    plain, slash, bits = text.partition("/")
    bare = plain.strip("[]")
    if bare in _UNSPECIFIED:
        return text
    try:
        version = ip_address(bare).version if not slash else ip_network(text, strict=False).version
    except ValueError:
        return None
    data = names.digest(bare)
    made = f"10.{data[0]}.{data[1]}.{data[2]}" if version == 4 else f"fd00::{data[:2].hex()}:{data[2:4].hex()}"
    return f"{made}{slash}{bits}"


def _token(match: re.Match[str], names: Names) -> str:
    token = match[0]
    made = address(token, names)
    if made is not None:
        return made
    end = found[0] if (found := _END.search(token)) is not None else ""
    bare = token[: len(token) - len(end)]
    is_quoted = match.start() > 0 and match.string[match.start() - 1] in "\"'`"
    return (_word(bare, names, "", is_name=is_quoted) if bare else "") + end


def _word(word: str, names: Names, kind: str, *, is_name: bool) -> str:
    """Return what stands for a word.

    Args:
        word: without blanks, brackets or quotes.
        names: the names that are known.
        kind: what it is said to name, empty where nothing says.
        is_name: whether it names something even if it is a word that everybody uses.
    """
    if kind and (made := names.named(kind, word)) is not None:
        return made
    if names.stays(word) or is_public_key(word):
        return word
    made = names.key(word) or names.named("", word)
    if made is not None and (is_name or not _is_common(word)):
        return made
    special = _special(word, names)
    if special is not None:
        return special
    if _has_shape(word):
        return word
    pieces = _PARTS.split(word)
    if len(pieces) > 1:
        return "".join(_pieces(pieces, names, is_name=is_name))
    return word if is_public(word) else names.opaque(word)


def _pieces(pieces: list[str], names: Names, *, is_name: bool) -> list[str]:
    made: list[str] = []
    kind = ""
    for index, piece in enumerate(pieces):
        if index % 2 or not piece:
            made.append(piece)
            continue
        made.append(_word(piece, names, kind, is_name=is_name))
        separator = pieces[index + 1] if index + 1 < len(pieces) else ""
        is_namespace = separator == "/" and not index and len(pieces) == 3 and names.named("Namespace", piece)
        kind = _KINDS.get(piece.lower(), "Pod" if is_namespace else "") if separator == "/" else ""
    return made


def _special(word: str, names: Names) -> str | None:
    """Return what stands for an address, an id or an account; None for other words."""
    found = address(word, names)
    if found is not None:
        return found
    identifier = _AWS_ID.fullmatch(word)
    if identifier is not None:
        return _identifier(identifier, names)
    if _HOST_OF_ADDRESS.match(word):
        return names.opaque(word, "host")
    host, colon, port = word.rpartition(":")
    if colon and port.isdecimal() and (made := address(host, names)) is not None:
        return f"{made}:{port}"
    return "0" * 12 if _ACCOUNT.fullmatch(word) else None


def _identifier(found: re.Match[str], names: Names) -> str:
    return f"{found[1]}-{names.digest(found[0]).hex()[: len(found[2])]}"
