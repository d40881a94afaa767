"""The node that the DaemonSet controller writes into the affinity of each of its pods.

A pod of a DaemonSet is tied to its node by a term of its own, so that no two of them would share a template. Once such
a pod is bound the term decides nothing any more: the pod is never placed again, and Karpenter reads no ``matchFields``
where it takes one for a sample of its DaemonSet.

Source: ReplaceDaemonSetPodNodeNameNodeAffinity in Kubernetes' pkg/controller/daemon/util/daemonset_util.go, and
NewStrictPodRequirements in Karpenter's pkg/scheduling/requirements.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec.structs import replace

from karptui.decode import pod_wire as wires
from karptui.decode.pod_text_wire import NO_TEXT, TextPod
from karptui.decode.wire import WireOwner, WireTerm

_ENCODER: Final = msgspec.json.Encoder()
_AFFINITY: Final = msgspec.json.Decoder(wires.WireAffinity | None)
_OWNERS: Final = msgspec.json.Decoder(list[WireOwner] | None)
_ESCAPE: Final = b"\\"
"""May hide a key's letters."""
_OWNED: Final = b'"apiVersion":"apps/v1","kind":"DaemonSet"'
_TERM: Final = b'"matchFields":[{"key":"metadata.name","operator":"In","values":["%b"]}]'
_ALONE: Final = b'{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{%b}]}}}'


def without_pin(
    affinity: wires.WireAffinity | None, owners: Iterable[WireOwner] | None, node_name: str
) -> wires.WireAffinity | None:
    """Return the affinity of a pod that is bound to a node, without its DaemonSet's term for that node."""
    if affinity is None or affinity.node_affinity is None or affinity.node_affinity.required is None:
        return affinity
    if not any(owner.kind == "DaemonSet" and owner.api_version == "apps/v1" for owner in owners or ()):
        return affinity
    terms = affinity.node_affinity.required.node_selector_terms or []
    if not any(_is_pin(term, node_name) for term in terms):
        return affinity
    freed = [replace(term, match_fields=None) if _is_pin(term, node_name) else term for term in terms]
    left = [term for term in freed if term.match_expressions or term.match_fields]
    required = wires.WireNodeSelector(node_selector_terms=left) if left else None
    return replace(affinity, node_affinity=replace(affinity.node_affinity, required=required))


def text_without_pin(pod: TextPod, node_name: str) -> msgspec.Raw:
    """Return the same of a pod whose fields are text still."""
    raw = pod.spec.affinity
    affinity = bytes(raw)
    if affinity.find(b"matchFields") < 0 and affinity.find(_ESCAPE) < 0:
        return raw
    owners = bytes(pod.metadata.owner_references)
    pin = _TERM % node_name.encode()
    if owners.find(_OWNED) >= 0:
        if affinity == _ALONE % pin:
            return NO_TEXT
        # A DaemonSet's own expressions stand before the term for the node.
        freed = affinity.replace(b"," + pin, b"")
        if freed.find(b"matchFields") < 0 and freed.find(_ESCAPE) < 0:
            return msgspec.Raw(freed)
    try:
        known = _AFFINITY.decode(raw)
        unpinned = without_pin(known, _OWNERS.decode(owners) if owners else None, node_name)
    except msgspec.ValidationError:
        # Whoever reads the pod in full says what is wrong, and where.
        return raw
    return raw if unpinned is known else msgspec.Raw(_ENCODER.encode(unpinned))


def _is_pin(term: WireTerm, node_name: str) -> bool:
    fields = term.match_fields or ()
    return (
        len(fields) == 1
        and fields[0].key == "metadata.name"
        and fields[0].operator == "In"
        and fields[0].values == [node_name]
    )
