"""Whose word counts: the namespaces and service accounts in which what is labelled as Karpenter is Karpenter.

A label proves nothing, as whoever may make pods in a namespace may put it there, and a lease beside them. What proves
something is what others cannot have. In order: a place in kube-system; a service account that the cluster's own
bindings let write NodeClaims. Where bindings may not be read: the lease by which Karpenter's replicas agree on a
leader, held by one of the pods, of several such leases the oldest, as nobody else chooses when an object was made; but
only in a cluster in which a Karpenter writes NodePools and NodeClaims (their managers), or events about them, and not
where such a lease is held in kube-system: that Karpenter runs outside, or its pods may not be seen. What a lease alone
proves is little, and is said. Source of the names: pkg/operator/operator.go and options/options.go of Karpenter, and
the chart of its AWS provider.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Protocol, TypeVar
from urllib.parse import quote

import msgspec

from karptui.decode.controller import OWN_NAMESPACE, USUAL_NAMESPACE
from karptui.decode.kinds import OTHER_PROVIDERS
from karptui.karpenter.controller import LEADER_LEASE
from karptui.kube.timestamps import NS_PER_SECOND, parse_timestamp
from karptui.sources.cluster.body import decoded
from karptui.sources.cluster.errors import ApiError

SELECTOR: Final = "app.kubernetes.io/name=karpenter"
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
_LEASE_SECONDS: Final = 60
"""A lease that has not been renewed for so long is held by nobody: four times what Karpenter takes."""
_BY_LEASE: Final = (
    f"only the lease {LEADER_LEASE} says that this is Karpenter, as ClusterRoleBindings may not be read: whoever may "
    "make leases and pods in {namespace} can say the same"
)
_BY_NAME: Final = (
    "only the namespace {namespace} says that this is Karpenter, as no lease does and ClusterRoleBindings may not be "
    "read"
)

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
    """Service accounts that are Karpenter's; None where those do not show it."""
    doubt: str = ""
    """A sentence on how little proves that it is Karpenter; empty where it is proven."""

    def is_proven_by(self, name: str, account: str) -> bool:
        """Return whether a pod, or what makes such pods, is Karpenter by its service account or the lease it holds."""
        if self.accounts is not None:
            return (account or "default") in self.accounts
        return not self.holder or self.holder == name or self.holder.startswith(f"{name}-")


class _Provenance(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    creation_timestamp: str = ""
    managed_fields: list[_Manager] | None = None


class _Manager(msgspec.Struct):
    manager: str = ""


class _LeaseSpec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = ""
    renew_time: str | None = ""


class _Lease(msgspec.Struct):
    metadata: _Provenance = msgspec.field(default_factory=_Provenance)
    spec: _LeaseSpec = msgspec.field(default_factory=_LeaseSpec)

    @property
    def holder(self) -> str:
        """The pod that holds it, or held it last; empty where it was given back."""
        return (self.spec.holder_identity or "").partition("_")[0]

    def was_given_up_before(self, other: _Lease) -> bool:
        """Whether it was renewed last well before another was made: Karpenter has moved from here to there.

        Of the other one nothing counts that whoever made it may choose.
        """
        try:
            renewed_ns = parse_timestamp(self.spec.renew_time or "")
            made_ns = parse_timestamp(other.metadata.creation_timestamp)
        except ValueError:
            return False
        return renewed_ns + _LEASE_SECONDS * NS_PER_SECOND < made_ns


class _Subject(msgspec.Struct):
    kind: str = ""
    name: str = ""
    namespace: str = ""


class _RoleRef(msgspec.Struct):
    name: str = ""


class _Binding(msgspec.Struct, rename="camel"):
    metadata: _Provenance = msgspec.field(default_factory=_Provenance)
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

    metadata: _Provenance = msgspec.field(default_factory=_Provenance)
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
    leases = asked.leases()
    holders = {namespace: one.holder for namespace, one in leases.items() if namespace != OWN_NAMESPACE}
    bindings = asked.bindings()
    proven = asked.accounts(bindings, [*holders, USUAL_NAMESPACE]) if bindings is not None else None
    if proven is not None:
        yield from (Home(namespace, accounts=accounts) for namespace, accounts in proven.items())
    elif asked.is_karpenter_at_work():
        own = leases.get(OWN_NAMESPACE)
        for namespace, holder in holders.items():
            if own is None or own.was_given_up_before(leases[namespace]):
                yield Home(namespace, holder, doubt=_BY_LEASE.format(namespace=namespace))
        if own is None:
            yield Home(USUAL_NAMESPACE, doubt=_BY_NAME.format(namespace=USUAL_NAMESPACE))


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

    def leases(self) -> dict[str, _Lease]:
        """Return Karpenter's leases that somebody holds, by namespace, the oldest first.

        All namespaces are asked for or, where that is not allowed, the usual one.
        """
        for path in (f"{_LEASES}/leases", f"{_LEASES}/namespaces/{USUAL_NAMESPACE}/leases"):
            if (found := self._ask(path, _Leases, fieldSelector=f"metadata.name={LEADER_LEASE}")) is not None:
                break
        else:
            return {}
        leases = sorted(found.items, key=lambda one: one.metadata.creation_timestamp)
        return {one.metadata.namespace: one for one in leases if one.holder and one.metadata.namespace}

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
