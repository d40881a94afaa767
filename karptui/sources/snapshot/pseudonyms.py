"""Pseudonyms that keep what decides: which names are the same, their order within a kind, and generated endings."""

from __future__ import annotations

import hmac
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Final

from karptui.aws.prices import region_of
from karptui.kube.generated_names import WRITTEN_KINDS, stem
from karptui.sources.snapshot import public

VALUE: Final = "Value"
"""Values of labels that are not well known."""
ORIGIN: Final = "Origin"
"""Values of the labels by which CI and batch systems name the origin of their pods."""
PUBLIC: Final[Mapping[str, frozenset[str]]] = {
    "Namespace": frozenset({"default", "karpenter", "kube-node-lease", "kube-public", "kube-system"}),
    "Deployment": frozenset(
        {"aws-load-balancer-controller", "cluster-autoscaler", "coredns", "karpenter", "kube-dns", "metrics-server"}
        | {"ebs-csi-controller", "efs-csi-controller", "fsx-csi-controller", "kueue-controller-manager"}
    ),
    "Lease": public.LEASES,
    "DaemonSet": frozenset(
        {"antrea-agent", "aws-node", "calico-node", "canal", "cilium", "kindnet", "kube-flannel-ds", "kube-proxy"}
        | {"ebs-csi-node", "efs-csi-node", "fsx-csi-node", "eks-pod-identity-agent", "weave-net"}
        | {"neuron-device-plugin", "nvidia-device-plugin", "nvidia-device-plugin-daemonset", "nvidia-driver-daemonset"}
    ),
    "PriorityClass": frozenset({"system-cluster-critical", "system-node-critical"}),
    "ServiceAccount": frozenset({"default"}),
    "Scheduler": frozenset({"default-scheduler"}),
    VALUE: frozenset({"true", "false", "karpenter"}),
    ORIGIN: frozenset({"true", "false"}),
}
"""Names that every cluster has, or those of public projects that findings read, by kind."""
_IS_PUBLIC: Final[Mapping[str, Callable[[str], bool]]] = {
    "InstanceType": public.is_instance_type,
    "Region": public.is_region,
    "Zone": public.is_zone,
    "ZoneID": public.is_zone_id,
}
"""Predicates for AWS's public names, by kind."""
_LAST: Final = ("Container", "Volume", ORIGIN, VALUE, "Uid")
"""Kinds that explain a word in a text only if no other kind does."""
_TOGETHER: Final = {"Node": "node", "NodeClaim": "claim"}
"""Kinds whose names are compared with each other."""
_POOL: Final = "NodePool"
_PREFIXES: Final[Mapping[str, str]] = {
    "NodeClass": "class",
    "NodeOverlay": "overlay",
    "CapacityBuffer": "buffer",
    "StorageClass": "storage",
    "PriorityClass": "priority",
    "Namespace": "ns",
    "Deployment": "deploy",
    "DaemonSet": "ds",
    "StatefulSet": "sts",
    "ReplicaSet": "rs",
    "PersistentVolumeClaim": "pvc",
    "PersistentVolume": "pv",
    "PodDisruptionBudget": "pdb",
    "ServiceAccount": "sa",
    "InstanceType": "type",
    "Zone": "zone",
    "ZoneID": "zone-id",
    "Region": "region",
    VALUE: "v",
    ORIGIN: "o",
}
_PLAIN: Final = frozenset(
    {"NodeClass", "NodeOverlay", "Namespace", "PersistentVolume", "PersistentVolumeClaim"}
    | {"PriorityClass", "StorageClass", "ServiceAccount", "Scheduler", "RuntimeClass", "PodDisruptionBudget", "Uid"}
    | {"Container", "Volume", "Service", "Event", "InstanceType", "Zone", "ZoneID", "Region", VALUE, *WRITTEN_KINDS}
)
"""Kinds without generated name endings: their pseudonyms are in the order of the names alone."""
_LONGEST_NUMBER: Final = 9
"""Numbers are compared as numbers and stay; longer ones may be accounts."""
_REPLICASET: Final = "ReplicaSet"
_CLAIM: Final = "PersistentVolumeClaim"
_MAKERS: Final[Mapping[str, tuple[str, ...]]] = {
    "NodeClaim": (_POOL,),
    "Pod": (_REPLICASET, "DaemonSet", "StatefulSet", "Job", "ReplicationController"),
}
"""Kinds whose names begin with the name of what made them: of objects that are gone nothing else tells it."""


_CONSONANTS: Final = str.maketrans("abcdefghijklmnop", "bcdfghjklmnpqrst")
"""Maps letters of a pseudonym to letters of generated endings."""


class Pseudonyms:
    """Learns names first, then gives each its pseudonym.

    A pseudonym consists of the kind, the rank among the names of its kind, and a word derived from the name with a
    key,
    the same in every recording: ``class-2-fkbdglei``. Names of one origin with different generated endings share a
    rank, and a number replaces the ending.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._seen: dict[str, set[str]] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._anywhere: dict[str, str] = {}
        self._hashes: set[str] = set()
        self._parts: dict[str, tuple[str, str]] = {}
        self._present: dict[str, set[str]] = {}

    def learn(self, kind: str, name: str) -> None:
        """Note that something of a kind has this name."""
        self._seen.setdefault(kind, set()).add(name)
        if kind == "Zone" and (region := region_of(name)) and not _is_fixed(kind, name):
            self._seen.setdefault("Region", set()).add(region)

    def learn_object(self, kind: str, name: str) -> None:
        """Note an object that is there; others are only mentioned."""
        self._present.setdefault(kind, set()).add(name)

    def learn_hash(self, value: str) -> None:
        """Note the value of a ``pod-template-hash`` label, which is the ending of a ReplicaSet's name."""
        self._hashes.add(value)

    def learn_ephemeral(self, pod: str, volume: str) -> None:
        """Note a volume whose claim is called after the pod and it."""
        self._parts[f"{pod}-{volume}"] = pod, volume

    def settle(self) -> None:
        """Give every name that was learned its pseudonym."""
        gone = {kind: self._absent_names(kind) for kind in _MAKERS}
        for kind, names in gone.items():
            self._seen[kind] = self._seen.get(kind, set()) - names
        self._settle_together()
        composed = ("Zone", _REPLICASET, _CLAIM)
        for kind in (*(other for other in self._seen if other not in (_POOL, *composed)), *composed):
            for name, pseudonym in self._pseudonyms_of(kind, self._seen.get(kind, set())):
                self._names[kind, name] = pseudonym
        for kind, names in gone.items():
            for name in names:
                self._names[kind, name] = f"{self._maker(kind, name)}-{self._ending(name)}"
        for (_, name), pseudonym in sorted(self._names.items(), key=lambda item: item[0][0] in _LAST):
            if name != pseudonym and not name.isdigit():
                self._anywhere.setdefault(name, pseudonym)

    def _absent_names(self, kind: str) -> set[str]:
        """Return the names of objects that are not there and whose maker is known."""
        mentioned = self._seen.get(kind, set()) - self._present.get(kind, set())
        return {name for name in mentioned if self._maker_of(kind, name)[1]}

    def _maker_of(self, kind: str, name: str) -> tuple[str, str]:
        """Return the kind and name of an object's maker, empty if it is unknown."""
        base = name.rpartition("-")[0]
        if maker := next((maker for maker in _MAKERS[kind] if base in self._seen.get(maker, ())), ""):
            return maker, base
        written = base.rpartition("-")[0]
        return ("Deployment", written) if kind == "Pod" and written in self._seen.get("Deployment", ()) else ("", "")

    def _maker(self, kind: str, name: str) -> str:
        """Return the pseudonym's beginning for a deleted object: that of its maker."""
        maker, base = self._maker_of(kind, name)
        begin = self.of(maker, base)
        return f"{begin}-{self._hash(name.rpartition('-')[0])}" if maker == "Deployment" else begin

    def _ending(self, name: str) -> str:
        """Return five letters as ``generateName`` makes them."""
        return self.word(name)[:5].translate(_CONSONANTS)

    def _hash(self, text: str) -> str:
        """Return text that looks like a template hash, so that it counts as a generated ending."""
        return f"{self.word(text)}4"

    def _settle_together(self) -> None:
        """Rank nodes, NodeClaims and NodePools together.

        A NodeClaim without a node ranks among nodes by its name. A NodePool ranks where the names of the nodes begin
        that a
        forecast adds to it, unless that would change the order of NodePools.
        """
        names = sorted(set().union(*(self._seen.get(kind, ()) for kind in _TOGETHER)))
        pools = sorted(self._seen.get(_POOL, ()))
        before = list(accumulate((bisect_left(names, f"{pool}-f0") for pool in pools), max))
        width = len(str(len(names) + len(pools)))
        for place, pool in enumerate(pools):
            self._names[_POOL, pool] = f"n{before[place] + place:0{width}d}-pool-{self.word(pool)}"
        places = {name: f"n{place + bisect_right(before, place):0{width}d}" for place, name in enumerate(names)}
        for kind, word in _TOGETHER.items():
            for name in self._seen.pop(kind, ()):
                self._names[kind, name] = f"{places[name]}-{word}-{self.word(name)}"

    def of(self, kind: str, name: str) -> str:
        """Return the pseudonym of a name; names that everybody has are their own."""
        return name if _is_fixed(kind, name) else self._names.get((kind, name)) or self.opaque(name)

    def knows(self, kind: str, name: str) -> bool:
        """Return whether something of a kind has this name."""
        return (kind, name) in self._names

    def anywhere(self, name: str) -> str | None:
        """Return the pseudonym of a name of any kind, None if the name is unknown."""
        return self._anywhere.get(name)

    def opaque(self, text: str, prefix: str = "x") -> str:
        """Return the pseudonym of a text that matters only for equality."""
        return f"{prefix}-{self.word(text)}"

    def word(self, text: str) -> str:
        """Return letters derived from a text with the key, so that texts cannot be guessed without it."""
        return "".join(map("abcdefghijklmnop".__getitem__, _nibbles(self.digest(text)[:4])))

    def digest(self, text: str) -> bytes:
        """Return 32 bytes made of a text with the key."""
        return hmac.digest(self._key, text.encode("utf-8", "surrogatepass"), "sha256")

    def _pseudonyms_of(self, kind: str, names: set[str]) -> Iterator[tuple[str, str]]:
        fixed = sorted(name for name in names if _is_fixed(kind, name))
        yield from ((name, name) for name in fixed)
        free = sorted(names.difference(fixed))
        composed = dict(self._composed(kind, free))
        if kind == VALUE:
            composed |= {name: self._hash(name) for name in self._hashes.intersection(free)}
        yield from composed.items()
        rest = [name for name in free if name not in composed]
        prefix = _PREFIXES.get(kind) or (kind.lower() if kind in public.vocabulary() else "x")
        stems = {name: name if kind in _PLAIN else stem(name) for name in rest}
        places = {stem: place for place, stem in enumerate(sorted(set(stems.values())))}
        width, endings = len(str(len(places))), len(str(len(rest)))
        for number, name in enumerate(rest):
            base = stems[name]
            text = f"{_lead(base, fixed, prefix)}-{places[base]:0{width}d}-{self.word(base)}"
            if kind == "Region" and region_of(name):
                # Zones of a region that AWS does not have name it too.
                text = f"r{_letters(places[base])}-{self.word(base)}-1"
            yield name, text if base == name else f"{text}-{number:0{endings}d}"

    def _composed(self, kind: str, names: Iterable[str]) -> Iterator[tuple[str, str]]:
        for name in names:
            if kind == _REPLICASET:
                base, _, ending = name.rpartition("-")
                if base and ending in self._hashes:
                    makers = (self._names.get((maker, base)) for maker in ("Deployment", "Rollout"))
                    whose = next(filter(None, makers), "") or self.opaque(base, "deploy")
                    yield name, f"{whose}-{self.of(VALUE, ending)}"
            elif kind == "Zone" and (region := region_of(name)):
                yield name, f"{self.of('Region', region)}{name.removeprefix(region)[:1]}"
            elif kind == _CLAIM and name in self._parts:
                pod, volume = self._parts[name]
                yield name, f"{self.of('Pod', pod)}-{self.of('Volume', volume)}"


def _nibbles(data: bytes) -> Iterator[int]:
    for byte in data:
        yield byte >> 4
        yield byte & 15


def _letters(number: int) -> str:
    """Return three letters that are in the order of numbers."""
    return "".join(chr(ord("a") + number // 26**place % 26) for place in (2, 1, 0))


def _is_fixed(kind: str, name: str) -> bool:
    if kind in _IS_PUBLIC:
        return _IS_PUBLIC[kind](name)
    return name in PUBLIC.get(kind, ()) or (kind == VALUE and _is_number(name))


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and text.isascii() and len(text) <= _LONGEST_NUMBER


def _lead(name: str, fixed: list[str], prefix: str) -> str:
    """Return a pseudonym's beginning that sorts like the name among the names that are kept."""
    at = bisect_left(fixed, name)
    before, after = (fixed[at - 1] if at else ""), (fixed[at] if at < len(fixed) else "")
    if before < f"{prefix}-" and (not after or f"{prefix}-~" < after):
        return prefix
    if name[:1].isalpha():
        letter = max(chr(ord(before[0]) + 1) if before else "a", "a")
        if letter < after[:1] or (not after and letter.isalpha()):
            return f"{letter}-{prefix}"
    return f"{before or 0}-{prefix}"
