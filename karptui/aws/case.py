"""Cases of `karptui types`: an EC2NodeClass, settings and zones in a document, and the resulting instance types.

The format is that of tests/goldens/aws: ``region``, ``settings``, ``nodeClass``, ``zones``, and optionally
``typeZones``, ``discovered``, ``reservations``, ``unavailable``, ``launch`` and ``placementGroup``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from karptui.aws.catalogue import instance_type_facts, price_list
from karptui.aws.devices import SHARING, device_pools, devices_document
from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.instance_types import allocatable, instance_types
from karptui.aws.kubelet import CEL_GATE, compile_problem, expressions, failures
from karptui.aws.kubelet_rules import parse_problem, rule_breaks, unmanaged_fields
from karptui.aws.labels import PLACEMENT_GROUP_PARTITION, RESERVATION_ID, ZONE_ID
from karptui.aws.launch import FilterStep, launch_steps
from karptui.aws.nodeclass import Ec2NodeClass, NodeClassError, parse_nodeclass
from karptui.aws.offerings import PlacementGroup, incompatibility
from karptui.aws.prices import Market, OfferingKey, built_in_market, region_of
from karptui.decode.errors import field_error
from karptui.errors import RequestError
from karptui.karpenter.instance_type import UNFULFILLABLE, InstanceType, Offering
from karptui.karpenter.labels import AWS_GROUP, CAPACITY_TYPE, RESERVED, ZONE
from karptui.karpenter.nodeclass import EC2_KIND, NodeClass
from karptui.karpenter.requirements import Requirement, Requirements
from karptui.karpenter.settings import Settings, SettingsError, parse_settings
from karptui.kube.quantity import NANO, NANO_PER_MILLI, Quantity, QuantityError, parse_quantity
from karptui.kube.resources import CPU, EPHEMERAL_STORAGE, MEMORY, ResourceList

_UNITS: Final = {CPU: "cpuMilli", MEMORY: "memoryBytes", EPHEMERAL_STORAGE: "ephemeralStorageBytes"}


class CaseError(RequestError):
    """The document is not a case; the message names the field."""


class _Zone(msgspec.Struct, frozen=True):
    name: str
    id: str = ""


class _Refused(msgspec.Struct, frozen=True, rename="camel"):
    """An offering that EC2 has recently refused."""

    capacity_type: str
    type: str
    zone: str
    reservation: str = ""


class _Requirement(msgspec.Struct, frozen=True, rename="camel"):
    key: str
    operator: str
    values: tuple[str, ...] = ()
    min_values: int | None = None


class _LaunchedClaim(msgspec.Struct, frozen=True):
    requirements: tuple[_Requirement, ...] = ()
    requests: Mapping[str, str | int | float] = {}


class _CaseDocument(msgspec.Struct, frozen=True, rename="camel"):
    node_class: Mapping[str, Any]
    karpenter: Mapping[str, str] = {}
    """Versions: ``core`` and ``provider``."""
    region: str = ""
    settings: Mapping[str, str | int | float | bool] = {}
    zones: tuple[_Zone, ...] = ()
    type_zones: Mapping[str, tuple[str, ...]] = {}
    discovered: Mapping[str, tuple[int, ...]] = {}
    reservations: Mapping[str, int] = {}
    placement_group: PlacementGroup | None = None
    unavailable: tuple[_Refused, ...] = ()
    launch: _LaunchedClaim | None = None


class LaunchedClaim(msgspec.Struct, frozen=True):
    """Requirements and requests of a NodeClaim to be launched."""

    requirements: Requirements
    requests: ResourceList


class TypesCase(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Input from which instance types are computed."""

    nodeclass: Ec2NodeClass
    given: NodeClass
    settings: Settings
    market: Market
    placement_group: PlacementGroup | None
    discovered_memory_bytes: Mapping[str, int]
    launch: LaunchedClaim | None = None
    tells_room: bool = False
    """Whether offerings report launchability separately, which readers of 1.14 answers do not expect."""
    problem: str = ""
    """Why Karpenter finds no types at all."""
    notes: tuple[str, ...] = ()
    """Assumptions made because the document is incomplete."""


def parse_case(content: Any) -> TypesCase:
    """Read a case.

    Raises:
        CaseError: A field is missing or has the wrong type, or the region is unknown.
        NodeClassError: The EC2NodeClass is invalid.
    """
    try:
        document = msgspec.convert(content, _CaseDocument)
        settings = parse_settings(
            {name: _text(value) for name, value in document.settings.items()},
            document.karpenter.get("provider") or document.karpenter.get("core", ""),
        )
    except msgspec.ValidationError as error:
        field = field_error(error, content)
        raise CaseError(f"{field.path or 'document'}: {field.problem}") from None
    except SettingsError as error:
        raise CaseError(f"settings: {error}") from None
    raw_nodeclass, notes = _nodeclass(document)
    nodeclass, problem = _read(raw_nodeclass)
    notes = (*(f"settings: {name} cannot be read: Karpenter's default applies" for name in settings.unread), *notes)
    region = document.region or _region(document, nodeclass)
    market = _market(document, region, nodeclass, settings.rules.provider_tables)
    if market.zones_assumed:
        notes = (
            *notes,
            (
                f"offerings in {', '.join(market.zones_assumed)} are unknown: "
                f"every type of {region} is assumed to be offered"
            ),
        )
    return TypesCase(
        nodeclass=nodeclass,
        given=raw_nodeclass,
        settings=settings,
        market=market,
        placement_group=document.placement_group if nodeclass.spec.placement_group_selector is not None else None,
        # The first report is used even if it is higher than the estimate, later ones only if they are lower.
        discovered_memory_bytes={name: min(reports) for name, reports in document.discovered.items() if reports},
        launch=None if document.launch is None else _launched(document.launch),
        tells_room=settings.rules.has_room_apart and _is_of_1_15(document, raw_nodeclass),
        problem=problem,
        notes=notes,
    )


def answer(case: TypesCase, names: Iterable[str] | None = None) -> dict[str, Any]:
    """Return the answer document: types with integer amounts, offerings, and incompatible types.

    If Karpenter rejects or crashes on the NodeClass, there are no types, and ``answers.error`` has the reason.

    Raises:
        CaseError: A name is not in the catalogue.
    """
    facts = _chosen_types(names)
    resolved: tuple[InstanceType, ...] = ()
    problem = case.problem
    if not problem:
        try:
            resolved = instance_types(
                case.nodeclass,
                case.settings,
                case.market,
                facts=facts,
                placement_group=case.placement_group,
                discovered_memory_bytes=case.discovered_memory_bytes,
            )
        except NodeClassError as error:
            problem = str(error)
    ruled_out = [
        type_facts.name
        for type_facts in facts
        if incompatibility(type_facts, case.nodeclass, case.placement_group) is not None
    ]
    return {
        "region": case.market.region,
        "prices": case.market.on_demand.label,
        "incompatible": [] if problem else ruled_out,
        "answers": _answers(case, facts, resolved, problem),
        "types": {resolved_type.name: _type_document(resolved_type, case) for resolved_type in resolved},
    }


def _answers(
    case: TypesCase, facts: tuple[InstanceTypeFacts, ...], resolved: tuple[InstanceType, ...], problem: str
) -> dict[str, Any]:
    """Return the results for the case as a whole."""
    answers: dict[str, Any] = {}
    if case.settings.rules.evaluates_kubelet:
        answers["kubelet"] = _kubelet_answer(case, facts)
    if case.launch is not None and not problem:
        steps = launch_steps(resolved, case.launch.requirements, case.launch.requests, case.settings.rules)
        answers["filters"] = [_filter_document(step) for step in steps]
    if problem:
        answers["error"] = problem
    return answers


def _kubelet_answer(case: TypesCase, facts: tuple[InstanceTypeFacts, ...]) -> dict[str, Any]:
    """Return Karpenter's verdict on ``spec.kubelet`` regardless of type, and failing expressions."""
    kubelet = case.given.spec.get("kubelet") or {}
    texts = {} if case.problem else expressions(case.nodeclass.kubelet)
    answers: dict[str, Any] = {
        "errors": list(rule_breaks(kubelet)),
        "expressions": bool(texts),
        "unmanagedFields": list(unmanaged_fields(kubelet)),
    }
    if case.problem:
        answers["parseError"] = parse_problem(kubelet)
    if wrong := next(filter(None, map(compile_problem, texts.values())), ""):
        answers["compileError"] = wrong
    if texts and case.settings.aws_gates.get(CEL_GATE, False):
        by_type = ((type_facts.name, failures(type_facts, case.nodeclass, case.settings)) for type_facts in facts)
        answers["evaluationErrors"] = {name: next(iter(reasons.values())) for name, reasons in by_type if reasons}
    return answers


def _filter_document(step: FilterStep) -> dict[str, Any]:
    reserved = sorted(
        f"{instance_type.name} {labels[ZONE]} {labels[RESERVATION_ID]}"
        for instance_type in step.left
        for offering in instance_type.offerings
        if offering.is_reserved
        for labels in (_labels(offering),)
    )
    document: dict[str, Any] = {
        "name": step.name,
        "left": sorted(instance_type.name for instance_type in step.left),
        "rejected": sorted(instance_type.name for instance_type in step.rejected),
    }
    return {**document, "reserved": reserved} if reserved else document


def _is_of_1_15(document: _CaseDocument, nodeclass: NodeClass) -> bool:
    """Return whether the document uses features of 1.15; other documents get the older answer format."""
    asks = document.launch is not None or bool(document.unavailable) or "AWS_FEATURE_GATES" in document.settings
    return asks or "enclaveOptions" in nodeclass.spec


def _text(value: str | float | bool) -> str:  # noqa: FBT001 - a value of a document, not a switch
    return str(value).lower() if isinstance(value, bool) else str(value)


def _launched(launch: _LaunchedClaim) -> LaunchedClaim:
    try:
        requests = {name: parse_quantity(str(amount)) for name, amount in launch.requests.items()}
    except QuantityError as error:
        raise CaseError(f"launch.requests: {error}") from None
    requirements = (
        Requirement.of(item.key, item.operator, item.values, item.min_values) for item in launch.requirements
    )
    return LaunchedClaim(Requirements(requirements), requests)


def _nodeclass(document: _CaseDocument) -> tuple[NodeClass, tuple[str, ...]]:
    content = document.node_class
    metadata, spec, status = content.get("metadata"), content.get("spec"), content.get("status")
    for field, value in (("metadata", metadata), ("spec", spec), ("status", status)):
        if value is not None and not isinstance(value, Mapping):
            raise CaseError(f"nodeClass.{field}: must be an object")
    if spec is None:
        raise CaseError("nodeClass.spec: is missing")
    name = str((metadata or {}).get("name", ""))
    status = dict(status or {})
    notes: tuple[str, ...] = ()
    if not status.get("subnets") and document.zones:
        status["subnets"] = [{"zone": zone.name, "zoneID": zone.id} for zone in document.zones]
        notes = (f"{EC2_KIND} {name}: status.subnets is empty: a subnet in each of the zones is assumed",)
    annotations = {key: str(value) for key, value in dict((metadata or {}).get("annotations") or {}).items()}
    nodeclass = NodeClass(
        name=name, kind=EC2_KIND, group=AWS_GROUP, annotations=annotations, spec=spec, status=status, raw=content
    )
    return nodeclass, notes


def _read(nodeclass: NodeClass) -> tuple[Ec2NodeClass, str]:
    """Return the NodeClass, without an unreadable ``spec.kubelet``, and why that is unreadable."""
    try:
        return parse_nodeclass(nodeclass), ""
    except NodeClassError as error:
        kubelet = nodeclass.spec.get("kubelet")
        if not isinstance(kubelet, Mapping) or not parse_problem(kubelet):
            raise
        spec = {name: value for name, value in nodeclass.spec.items() if name != "kubelet"}
        problem = f"{error}: Karpenter finds no instance types"
        return parse_nodeclass(msgspec.structs.replace(nodeclass, spec=spec)), problem


def _region(document: _CaseDocument, nodeclass: Ec2NodeClass) -> str:
    names = (*(zone.name for zone in document.zones), *(zone.name for zone in nodeclass.zones))
    region = next(filter(None, map(region_of, names)), "")
    if not region:
        raise CaseError("region: is missing, and cannot be derived from a zone")
    return region


def _market(document: _CaseDocument, region: str, nodeclass: Ec2NodeClass, tables: str) -> Market:
    """Return the market of the case; without zones, the built-in catalogue's."""
    sold_out = {
        OfferingKey(refused.capacity_type, refused.type, refused.zone, refused.reservation): UNFULFILLABLE
        for refused in document.unavailable
    }
    if not document.zones:
        market = built_in_market(region, nodeclass.zones, document.reservations)
        return msgspec.structs.replace(market, sold_out=sold_out, on_demand=price_list(region, tables))
    every = frozenset(zone.name for zone in document.zones)
    by_type = {name: frozenset(document.type_zones.get(name, every)) for name in instance_type_facts()}
    return Market(
        region=region,
        zones=tuple(sorted(every.union(*by_type.values()))),
        zones_by_type=by_type,
        on_demand=price_list(region, tables),
        instances_left=document.reservations,
        sold_out=sold_out,
    )


def _chosen_types(names: Iterable[str] | None) -> tuple[InstanceTypeFacts, ...]:
    catalogue = instance_type_facts()
    if names is None:
        return tuple(catalogue.values())
    chosen = tuple(names)
    if unknown := [name for name in chosen if name not in catalogue]:
        raise CaseError(f"--types: the catalogue has no {', '.join(unknown)}")
    return tuple(catalogue[name] for name in chosen)


def _type_document(instance_type: InstanceType, case: TypesCase) -> dict[str, Any]:
    overhead = instance_type.overhead
    document: dict[str, Any] = {
        "capacity": _integers(instance_type.capacity),
        "overhead": {
            "kubeReserved": _integers(overhead.kube_reserved),
            "systemReserved": _integers(overhead.system_reserved),
            "evictionThreshold": _integers(overhead.eviction_threshold),
        },
        "allocatable": _integers(allocatable(instance_type)),
        "requirements": [
            {"key": requirement.key, "operator": requirement.operator, "values": list(requirement.values)}
            for requirement in sorted(instance_type.requirements, key=lambda requirement: requirement.key)
        ],
        "offerings": [_offering_document(offering, case) for offering in instance_type.offerings],
    }
    pools = device_pools(instance_type.name, case.settings, case.given.annotations.get(SHARING, ""))
    if pools:
        document["dynamicResources"] = devices_document(pools)
    return document


def _integers(amounts: ResourceList) -> dict[str, int]:
    return {_UNITS.get(name, name): _integer(name, amount) for name, amount in sorted(amounts.items())}


def _integer(name: str, amount: Quantity) -> int:
    """Return millicores or whole units, rounded towards plus infinity (also if negative, unlike Kubernetes)."""
    return -(-amount.nano // (NANO_PER_MILLI if name == CPU else NANO))


def _offering_document(offering: Offering, case: TypesCase) -> dict[str, Any]:
    labels = _labels(offering)
    document: dict[str, Any] = {
        "capacityType": labels[CAPACITY_TYPE],
        "zone": labels[ZONE],
        "zoneId": labels.get(ZONE_ID),
        "price": offering.price_per_hour,
        "available": offering.is_available,
    }
    if case.tells_room:
        document["launchable"] = offering.is_launchable(case.settings.rules)
    if labels[CAPACITY_TYPE] == RESERVED:
        document |= {"reservation": labels[RESERVATION_ID], "remaining": offering.reservation_capacity}
    if PLACEMENT_GROUP_PARTITION in labels:
        document["partition"] = labels[PLACEMENT_GROUP_PARTITION]
    return document


def _labels(offering: Offering) -> dict[str, str]:
    return {requirement.key: requirement.values[0] for requirement in offering.requirements if requirement.values}
