"""Whose word counts: the namespaces and service accounts in which what is labelled as Karpenter is Karpenter.

A label proves nothing, as whoever may make pods in a namespace may put it there, and a lease beside them. What proves
something is what others cannot have. In order: a place in kube-system; a service account that the cluster's own
bindings let write NodeClaims. Where bindings may not be read: the lease by which Karpenter's replicas agree on a
leader, held by one of the pods, of several such leases the oldest, as nobody else chooses when an object was made; but
only in a cluster in which a Karpenter writes NodePools and NodeClaims (their managers), or events about them. Source of
the names: pkg/operator/operator.go and options/options.go of Karpenter, and the chart of its AWS provider.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Protocol, TypeVar
from urllib.parse import quote

import msgspec

from karptui.decode.kinds import OTHER_PROVIDERS
from karptui.sources.cluster.body import decoded
from karptui.sources.cluster.errors import ApiError

SELECTOR: Final = "app.kubernetes.io/name=karpenter"
LEASE: Final = "karpenter-leader-election"
OWN_NAMESPACE: Final = "kube-system"
"""Nobody but who runs the cluster puts anything there."""
USUAL_NAMESPACE: Final = "karpenter"
"""Looked into where no lease leads to another one."""
MANAGER: Final = "karpenter"
"""What Karpenter calls itself where it writes objects and events."""
JSON: Final = "application/json"
RBAC_GROUP: Final = "rbac.authorization.k8s.io"
_KARPENTER_GROUP: Final = "karpenter.sh"
_LEASES: Final = "/apis/coordination.k8s.io/v1"
_RBAC: Final = f"/apis/{RBAC_GROUP}/v1"
_MANAGED: Final = (f"/apis/{_KARPENTER_GROUP}/v1/nodepools", f"/apis/{_KARPENTER_GROUP}/v1/nodeclaims")
_EVENTS: Final = "/api/v1/namespaces/default/events"
"""Where events about objects without a namespace are."""
_WRITES: Final = frozenset({"create", "update", "patch", "delete", "*"})
_EVERYBODY: Final = frozenset({"system:serviceaccounts", "system:authenticated"})
_GROUP: Final = "system:serviceaccounts:"
_SOME: Final = "20"

ShapeT = TypeVar("ShapeT")


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
        """Return the body of the answer.

        Raises:
            SourceError: when there is none, or it is an error.
        """
        ...


class Home(msgspec.Struct, frozen=True):
    """A namespace that may be Karpenter's."""

    namespace: str
    holder: str = ""
    """The pod that holds the lease; empty where something else is proof enough."""
    accounts: frozenset[str] | None = None
    """Service accounts that are Karpenter's; None where it is not told by them."""

    def is_proven_by(self, name: str, account: str) -> bool:
        """Return whether a pod, or what makes such pods, is Karpenter by its service account or the lease it holds."""
        if self.accounts is not None:
            return (account or "default") in self.accounts
        return not self.holder or self.holder == name or self.holder.startswith(f"{name}-")


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    creation_timestamp: str = ""
    managed_fields: list[_Manager] | None = None


class _Manager(msgspec.Struct):
    manager: str = ""


class _LeaseSpec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = ""


class _Lease(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _LeaseSpec = msgspec.field(default_factory=_LeaseSpec)


class _Subject(msgspec.Struct):
    kind: str = ""
    name: str = ""
    namespace: str = ""


class _RoleRef(msgspec.Struct):
    name: str = ""


class _Binding(msgspec.Struct, rename="camel"):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    subjects: list[_Subject] | None = None
    role_ref: _RoleRef = msgspec.field(default_factory=_RoleRef)

    def accounts(self) -> Iterator[tuple[str, str]]:
        """Yield whom it is for, as namespaces and service accounts; a group of them has no account."""
        for one in self.subjects or ():
            if one.kind == "ServiceAccount":
                yield one.namespace, one.name
            elif one.kind == "Group" and one.name.startswith(_GROUP):
                yield one.name.removeprefix(_GROUP), ""

    @property
    def is_for_everybody(self) -> bool:
        """Whether every service account of the cluster is meant."""
        return any(one.kind == "Group" and one.name in _EVERYBODY for one in self.subjects or ())


class _Rule(msgspec.Struct, rename="camel"):
    api_groups: list[str] | None = None
    resources: list[str] | None = None
    verbs: list[str] | None = None
    resource_names: list[str] | None = None

    @property
    def lets_write(self) -> bool:
        """Whether it lets somebody write every NodeClaim."""
        groups, resources = self.api_groups or (), self.resources or ()
        return (
            not self.resource_names
            and bool({_KARPENTER_GROUP, "*"} & {*groups})
            and bool({"nodeclaims", "nodeclaims/status", "*"} & {*resources})
            and bool(_WRITES & {*(self.verbs or ())})
        )


class _Role(msgspec.Struct):
    rules: list[_Rule] | None = None


class _ClassRef(msgspec.Struct):
    group: str = ""


class _ClaimSpec(msgspec.Struct, rename="camel"):
    node_class_ref: _ClassRef = msgspec.field(default_factory=_ClassRef)


class _Template(msgspec.Struct):
    spec: _ClaimSpec = msgspec.field(default_factory=_ClaimSpec)


class _ManagedSpec(msgspec.Struct, rename="camel"):
    node_class_ref: _ClassRef = msgspec.field(default_factory=_ClassRef)
    template: _Template = msgspec.field(default_factory=_Template)


class _Managed(msgspec.Struct):
    """A NodePool or a NodeClaim."""

    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _ManagedSpec = msgspec.field(default_factory=_ManagedSpec)

    @property
    def is_karpenters(self) -> bool:
        """Whether a Karpenter has written it that runs in the cluster: EKS Auto Mode's runs outside."""
        groups = {self.spec.node_class_ref.group, self.spec.template.spec.node_class_ref.group}
        managers = self.metadata.managed_fields or ()
        return groups.isdisjoint(OTHER_PROVIDERS) and any(one.manager == MANAGER for one in managers)


class _Source(msgspec.Struct):
    component: str = ""


class _Involved(msgspec.Struct, rename="camel"):
    api_version: str = ""


class _Event(msgspec.Struct, rename="camel"):
    source: _Source = msgspec.field(default_factory=_Source)
    involved_object: _Involved = msgspec.field(default_factory=_Involved)


class _Leases(msgspec.Struct):
    items: list[_Lease] = []


class _Bindings(msgspec.Struct):
    items: list[_Binding] = []


class _ManagedObjects(msgspec.Struct):
    items: list[_Managed] = []


class _Events(msgspec.Struct):
    items: list[_Event] = []


def places(client: ProxyClient, *, read_seconds: float) -> Iterator[Home]:
    """Return where Karpenter may be, the best proof first; more is asked for only when it is needed.

    Raises:
        SourceError: when the server does not answer.
    """
    yield Home(OWN_NAMESPACE)
    asked = _Questions(client, read_seconds)
    holders = asked.holders()
    bindings = asked.bindings()
    proven = asked.accounts(bindings, [*holders, USUAL_NAMESPACE]) if bindings is not None else None
    if proven is not None:
        yield from (Home(namespace, accounts=accounts) for namespace, accounts in proven.items())
    elif asked.is_karpenter_at_work():
        yield from (Home(namespace, holder) for namespace, holder in holders.items())
        yield Home(USUAL_NAMESPACE)


class _Questions:
    """What the API server is asked of who Karpenter is; a refusal is no answer."""

    def __init__(self, client: ProxyClient, read_seconds: float) -> None:
        self._client = client
        self._read_seconds = read_seconds

    def _ask(self, path: str, shape: type[ShapeT], **query: str) -> ShapeT | None:
        try:
            body = self._client.get(path, query or None, read_seconds=self._read_seconds)
        except ApiError:
            return None
        return decoded(body, shape, "the API server's answer cannot be read")

    def holders(self) -> dict[str, str]:
        """Return who holds Karpenter's lease, by namespace, the oldest lease first.

        All namespaces are asked for or, where that is not allowed, the usual one.
        """
        for path in (f"{_LEASES}/leases", f"{_LEASES}/namespaces/{USUAL_NAMESPACE}/leases"):
            if (found := self._ask(path, _Leases, fieldSelector=f"metadata.name={LEASE}")) is not None:
                break
        else:
            return {}
        leases = sorted(found.items, key=lambda one: one.metadata.creation_timestamp)
        holders = {one.metadata.namespace: (one.spec.holder_identity or "").partition("_")[0] for one in leases}
        return {name: holder for name, holder in holders.items() if holder and name not in ("", OWN_NAMESPACE)}

    def bindings(self) -> list[_Binding] | None:
        """Return who is allowed what in the whole cluster; None where that may not be read, or there is nothing."""
        found = self._ask(f"{_RBAC}/clusterrolebindings", _Bindings)
        return (found.items or None) if found is not None else None

    def accounts(self, bindings: Iterable[_Binding], namespaces: Iterable[str]) -> dict[str, frozenset[str]] | None:
        """Return the service accounts that may write NodeClaims, by namespace.

        Args:
            bindings: who is allowed what.
            namespaces: where to look, beside what is called Karpenter's.

        Returns:
            None where it is not to be had, or everybody may.
        """
        found: dict[str, set[str]] = {name: set() for name in namespaces}
        known: dict[str, bool] = {}
        for binding in bindings:
            names_karpenter = MANAGER in binding.metadata.name
            pairs = [
                (namespace, account)
                for namespace, account in binding.accounts()
                if namespace in found or (namespace != OWN_NAMESPACE and (names_karpenter or MANAGER in account))
            ]
            role = binding.role_ref.name
            if not (pairs or binding.is_for_everybody):
                continue
            if role not in known:
                rules = self._ask(f"{_RBAC}/clusterroles/{quote(role, safe='')}", _Role)
                if rules is None:
                    return None
                known[role] = any(rule.lets_write for rule in rules.rules or ())
            if not known[role]:
                continue
            if binding.is_for_everybody or not all(account for _, account in pairs):
                return None
            for namespace, account in pairs:
                found.setdefault(namespace, set()).add(account)
        return {namespace: frozenset(accounts) for namespace, accounts in found.items() if accounts}

    def is_karpenter_at_work(self) -> bool:
        """Return whether a Karpenter writes NodePools, NodeClaims, or events about what only it is about."""
        for path in _MANAGED:
            found = self._ask(path, _ManagedObjects, limit=_SOME)
            if found is not None and any(one.is_karpenters for one in found.items):
                return True
        events = self._ask(_EVENTS, _Events, fieldSelector=f"source={MANAGER}", limit=_SOME)
        return events is not None and any(
            one.source.component == MANAGER and one.involved_object.api_version.startswith(f"{_KARPENTER_GROUP}/")
            for one in events.items
        )


def path_in(group: str, namespace: str, resource: str) -> str:
    """Return the path of a collection in one namespace."""
    return f"{group}/namespaces/{quote(namespace, safe='')}/{resource}"
