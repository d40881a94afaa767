"""Which NodeClaim belongs to which Node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.node import Node

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class Links(msgspec.Struct, frozen=True):
    """Names of the two halves of each machine, either way."""

    claim_of_node: Mapping[str, str] = _NOTHING
    """NodeClaim by node."""
    node_of_claim: Mapping[str, str] = _NOTHING
    """Node by NodeClaim."""


NO_LINKS: Final = Links()


def link(nodes: Iterable[Node], claims: Iterable[NodeClaim]) -> Links:
    """Tie nodes to NodeClaims: by providerID, and by node name where one of the two has no providerID yet.

    A node that came back under an old name has another providerID, and so is not taken for the old claim's. Where
    several would do, the one is taken that names the other half, and else the latest; never by the order they came in.
    """
    by_provider: dict[str, NodeClaim] = {}
    by_node_name: dict[str, list[NodeClaim]] = {}
    for claim in claims:
        if claim.provider_id:
            known = by_provider.get(claim.provider_id)
            by_provider[claim.provider_id] = claim if known is None else max(known, claim, key=_recency)
        if claim.node_name:
            by_node_name.setdefault(claim.node_name, []).append(claim)
    claim_of_node: dict[str, str] = {}
    node_of_claim: dict[str, Node] = {}
    for node in nodes:
        found = by_provider.get(node.provider_id) if node.provider_id else None
        if found is None:
            found = _by_name(node, by_node_name.get(node.name, ()))
        if found is not None:
            claim_of_node[node.name] = found.name
            other = node_of_claim.get(found.name)
            node_of_claim[found.name] = node if other is None else _nearer(found, other, node)
    return Links(claim_of_node, {claim: node.name for claim, node in node_of_claim.items()})


def _recency(claim: NodeClaim) -> tuple[bool, int, str]:
    """Of several claims for one machine the latest is meant: the others' node is gone."""
    return not claim.is_deleting, claim.created_ns, claim.name


def _nearer(claim: NodeClaim, one: Node, other: Node) -> Node:
    """Return which of two nodes with its providerID a claim means."""
    return max(one, other, key=lambda node: (node.name == claim.node_name, node.created_ns, node.name))


def _by_name(node: Node, claims: Iterable[NodeClaim]) -> NodeClaim | None:
    open_claims = [claim for claim in claims if not (claim.provider_id and node.provider_id)]
    return max(open_claims, key=_recency, default=None)


def is_relinking(old: Node | NodeClaim | None, new: Node | NodeClaim | None) -> bool:
    """Whether a change to a node or a claim can change what belongs together."""
    return _bond(old) != _bond(new)


def _bond(item: Node | NodeClaim | None) -> tuple[object, ...]:
    if item is None:
        return ()
    if isinstance(item, NodeClaim):
        return item.provider_id, item.node_name, item.is_deleting, item.created_ns
    return item.provider_id, item.created_ns
