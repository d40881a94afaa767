"""Proves which namespaces and service accounts are Karpenter's.

A label proves nothing: anyone who may create pods in a namespace can set it, and create a lease next to them. Only
what others cannot have is a proof. In order:

1. The namespace kube-system.
2. A service account that the cluster's own bindings let write NodeClaims.
3. If bindings may not be read: Karpenter's leader election lease, held by one of the pods; of several leases the
   oldest, because only the API server sets an object's creation time. It counts only if some Karpenter writes
   NodePools and NodeClaims (their managers) or events about them, and no such lease is held in kube-system: that
   Karpenter runs outside, or its pods may not be seen. A lease is a weak proof, which karptui notes.

Source of the names: pkg/operator/operator.go and options/options.go of Karpenter, and the chart of its AWS provider.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Protocol
from urllib.parse import quote

import msgspec

from karptui.decode.controller import OWN_NAMESPACE, USUAL_NAMESPACE
from karptui.decode.kinds import OTHER_PROVIDERS
from karptui.decode.loose import mappings, text, texts
from karptui.karpenter.controller import LEADER_LEASE, NAME, NAME_LABEL
from karptui.kube.timestamps import NS_PER_SECOND, parse_timestamp
from karptui.sources.cluster.body import decoded
from karptui.sources.cluster.errors import ApiError

SELECTOR: Final = f"{NAME_LABEL}={NAME}"
MANAGER: Final = "karpenter"
"""Name that Karpenter uses as manager of objects and source of events."""
JSON: Final = "application/json"
RBAC_GROUP: Final = "rbac.authorization.k8s.io"
_KARPENTER_GROUP: Final = "karpenter.sh"
_LEASES: Final = "/apis/coordination.k8s.io/v1"
_RBAC: Final = f"/apis/{RBAC_GROUP}/v1"
_MANAGED: Final = (f"/apis/{_KARPENTER_GROUP}/v1/nodepools", f"/apis/{_KARPENTER_GROUP}/v1/nodeclaims")
_EVENTS: Final = "/api/v1/namespaces/default/events"
"""Namespace of events about cluster-scoped objects."""
_WRITES: Final = frozenset({"create", "update", "patch", "delete", "*"})
_EVERYBODY: Final = frozenset({"system:serviceaccounts", "system:authenticated"})
_GROUP: Final = "system:serviceaccounts:"
_SOME: Final = "20"
_LEASE_SECONDS: Final = 60
"""A lease that has not been renewed for this long has no holder: four times Karpenter's own duration."""
_BY_LEASE: Final = (
    f"only the lease {LEADER_LEASE} identifies this as Karpenter, because ClusterRoleBindings may not be read: anyone "
    "who may create leases and pods in {namespace} can fake it"
)
_BY_NAME: Final = (
    "only the namespace {namespace} identifies this as Karpenter: there is no lease, and ClusterRoleBindings may not "
    "be read"
)


class ProxyClient(Protocol):
    """Sends GET requests to the API server as the user; ``sources.cluster.transport.Transport`` is one."""

    def get(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        accept: str = JSON,
        read_seconds: float | None = None,
    ) -> bytes:
        """Return the body of the answer."""
        ...


class Home(msgspec.Struct, frozen=True):
    """A namespace that may be Karpenter's."""

    namespace: str
    holder: str = ""
    """The pod that holds the lease; empty if something else is the proof."""
    accounts: frozenset[str] | None = None
    """Karpenter's service accounts; None if they are not the proof."""
    doubt: str = ""
    """Why the proof is weak; empty if it is not."""

    def is_proven_by(self, name: str, account: str) -> bool:
        """Return whether a pod or its owner is Karpenter's, by its service account or the lease that it holds."""
        if self.accounts is not None:
            return (account or "default") in self.accounts
        return not self.holder or self.holder == name or self.holder.startswith(f"{name}-")


class _List(msgspec.Struct):
    items: list[dict[str, Any]] | None = None


def list_items(
    client: ProxyClient, path: str, read_seconds: float, query: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Return the objects of a list.

    Raises:
        SourceError: if it may not be read, or the answer is not a list.
    """
    body = client.get(path, query, read_seconds=read_seconds)
    return decoded(body, _List, "the API server's answer cannot be read").items or []


def path_in(group: str, namespace: str, resource: str) -> str:
    """Return the path of a collection in one namespace."""
    return f"{group}/namespaces/{quote(namespace, safe='')}/{resource}"


def places(client: ProxyClient, *, read_seconds: float) -> Iterator[Home]:
    """Yield the namespaces where Karpenter may be, the best proof first; sends only the requests it needs.

    Raises:
        SourceError: when the server does not answer.
    """
    yield Home(OWN_NAMESPACE)
    questions = _Questions(client, read_seconds)
    leases = questions.leases()
    holders = {namespace: _holder(lease) for namespace, lease in leases.items() if namespace != OWN_NAMESPACE}
    if (proven := questions.accounts([*holders, USUAL_NAMESPACE])) is not None:
        yield from (Home(namespace, accounts=accounts) for namespace, accounts in proven.items())
    elif questions.is_karpenter_at_work():
        document = leases.get(OWN_NAMESPACE)
        for namespace, holder in holders.items():
            if document is None or _was_given_up_before(document, leases[namespace]):
                yield Home(namespace, holder, doubt=_BY_LEASE.format(namespace=namespace))
        if document is None:
            yield Home(USUAL_NAMESPACE, doubt=_BY_NAME.format(namespace=USUAL_NAMESPACE))


class _Questions:
    """Asks the API server for proofs; a refusal is no answer."""

    def __init__(self, client: ProxyClient, read_seconds: float) -> None:
        self._client = client
        self._read_seconds = read_seconds

    def _items(self, path: str, **query: str) -> list[dict[str, Any]] | None:
        try:
            return list_items(self._client, path, self._read_seconds, query)
        except ApiError:
            return None

    def leases(self) -> dict[str, dict[str, Any]]:
        """Return Karpenter's leases that have a holder, by namespace, the oldest first.

        If leases may not be listed in all namespaces, karptui lists them in the usual one.
        """
        for path in (f"{_LEASES}/leases", f"{_LEASES}/namespaces/{USUAL_NAMESPACE}/leases"):
            if (items := self._items(path, fieldSelector=f"metadata.name={LEADER_LEASE}")) is not None:
                items.sort(key=lambda lease: text(lease, "metadata", "creationTimestamp"))
                by_namespace = {text(lease, "metadata", "namespace"): lease for lease in items if _holder(lease)}
                return {namespace: lease for namespace, lease in by_namespace.items() if namespace}
        return {}

    def accounts(self, namespaces: Iterable[str]) -> dict[str, frozenset[str]] | None:
        """Return the service accounts that may write NodeClaims, by namespace.

        Args:
            namespaces: where to look, in addition to bindings and accounts that are named after Karpenter.

        Returns:
            None if bindings or roles may not be read, or everybody may write NodeClaims.
        """
        bindings = self._items(f"{_RBAC}/clusterrolebindings")
        if not bindings:
            return None
        accounts_by_namespace: dict[str, set[str]] = {name: set() for name in namespaces}
        may_write: dict[str, bool] = {}
        for binding in bindings:
            names_karpenter = MANAGER in text(binding, "metadata", "name")
            pairs = [
                (namespace, account)
                for namespace, account in _accounts(binding)
                if namespace in accounts_by_namespace
                or (namespace != OWN_NAMESPACE and (names_karpenter or MANAGER in account))
            ]
            if not (pairs or _is_for_everybody(binding)):
                continue
            role = text(binding, "roleRef", "name")
            if role not in may_write:
                rules = self._rules(role)
                if rules is None:
                    return None
                may_write[role] = any(map(_lets_write, rules))
            if not may_write[role]:
                continue
            if _is_for_everybody(binding) or not all(account for _, account in pairs):
                return None
            for namespace, account in pairs:
                accounts_by_namespace.setdefault(namespace, set()).add(account)
        return {namespace: frozenset(accounts) for namespace, accounts in accounts_by_namespace.items() if accounts}

    def _rules(self, role: str) -> list[Mapping[str, Any]] | None:
        try:
            path = f"{_RBAC}/clusterroles/{quote(role, safe='')}"
            body = self._client.get(path, None, read_seconds=self._read_seconds)
        except ApiError:
            return None
        return mappings(decoded(body, dict[str, Any], "the API server's answer cannot be read"), "rules")

    def is_karpenter_at_work(self) -> bool:
        """Return whether a Karpenter writes NodePools, NodeClaims, or events about its own kinds."""
        if any(_is_karpenters(item) for path in _MANAGED for item in self._items(path, limit=_SOME) or ()):
            return True
        events = self._items(_EVENTS, fieldSelector=f"source={MANAGER}", limit=_SOME) or ()
        return any(
            text(event, "source", "component") == MANAGER
            and text(event, "involvedObject", "apiVersion").startswith(f"{_KARPENTER_GROUP}/")
            for event in events
        )


def _holder(lease: Mapping[str, Any]) -> str:
    """Return the pod that holds a lease, or held it last; empty if it was given back."""
    return text(lease, "spec", "holderIdentity").partition("_")[0]


def _was_given_up_before(lease: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether a lease was last renewed well before another was created: Karpenter has moved there.

    Of the other lease nothing counts that its creator may choose.
    """
    try:
        renewed_ns = parse_timestamp(text(lease, "spec", "renewTime"))
        created_ns = parse_timestamp(text(other, "metadata", "creationTimestamp"))
    except ValueError:
        return False
    return renewed_ns + _LEASE_SECONDS * NS_PER_SECOND < created_ns


def _accounts(binding: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a binding's namespaces and service accounts; a group of accounts has an empty name."""
    for subject in mappings(binding, "subjects"):
        kind, name = text(subject, "kind"), text(subject, "name")
        if kind == "ServiceAccount":
            yield text(subject, "namespace"), name
        elif kind == "Group" and name.startswith(_GROUP):
            yield name.removeprefix(_GROUP), ""


def _is_for_everybody(binding: Mapping[str, Any]) -> bool:
    """Return whether a binding is for every service account of the cluster."""
    subjects = mappings(binding, "subjects")
    return any(text(subject, "kind") == "Group" and text(subject, "name") in _EVERYBODY for subject in subjects)


def _lets_write(rule: Mapping[str, Any]) -> bool:
    """Return whether a rule allows writing every NodeClaim."""
    return (
        not rule.get("resourceNames")
        and not {_KARPENTER_GROUP, "*"}.isdisjoint(texts(rule, "apiGroups"))
        and not {"nodeclaims", "nodeclaims/status", "*"}.isdisjoint(texts(rule, "resources"))
        and not _WRITES.isdisjoint(texts(rule, "verbs"))
    )


def _is_karpenters(managed: Mapping[str, Any]) -> bool:
    """Return whether a Karpenter in the cluster wrote a NodePool or NodeClaim; EKS Auto Mode's runs outside."""
    reference = ("nodeClassRef", "group")
    groups = {text(managed, "spec", *reference), text(managed, "spec", "template", "spec", *reference)}
    managers = mappings(managed, "metadata", "managedFields")
    return groups.isdisjoint(OTHER_PROVIDERS) and any(text(manager, "manager") == MANAGER for manager in managers)
