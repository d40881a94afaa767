"""Schemas of kinds, from CRDs or shipped, and the defaults they fill in."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any, Final, NamedTuple

from karptui.karpenter.rules import NEWEST
from karptui.whatif.field_path import Path
from karptui.whatif.yaml.tree import ProblemSeverity


class Violation(NamedTuple):
    """One sentence about one field."""

    path: Path
    message: str
    severity: ProblemSeverity = ProblemSeverity.ERROR
    on_key: bool = False
    """The field's name is at fault rather than its value."""
    blocks_rules: bool = True
    """Rules over this value or its parents cannot run until it is corrected."""


class Origin(StrEnum):
    """Whose schema it is."""

    CLUSTER = "cluster"
    """The cluster's own CustomResourceDefinition."""
    SHIPPED = "shipped"
    """Karptui's own, of the version of Karpenter that ``Schemas.shipped`` names."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KindSchema:
    """How objects of one kind and version are made."""

    api_version: str
    kind: str
    plural: str
    """As in ``kubectl get <plural>``, without the group."""
    namespaced: bool
    schema: Mapping[str, Any]
    """OpenAPI v3, as in a CustomResourceDefinition's ``openAPIV3Schema``."""
    origin: Origin
    built_in: bool = False
    """Kubernetes' own kind, whose validation beyond types is code in the API server."""

    @property
    def resource(self) -> str:
        """As kubectl takes it: ``nodepools.karpenter.sh``, or ``deployments.apps``."""
        group = self.api_version.rpartition("/")[0]
        return f"{self.plural}.{group}" if group else self.plural


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Schemas:
    """The schemas that a buffer is held against."""

    kinds: Mapping[tuple[str, str], KindSchema]
    """By apiVersion and kind."""
    shipped: str = ""
    """Karpenter version of the shipped schemas, empty if there are none."""

    def get(self, api_version: str, kind: str) -> KindSchema | None:
        """Find the schema of an apiVersion and kind."""
        return self.kinds.get((api_version, kind))

    def versions(self, kind: str) -> tuple[str, ...]:
        """Name the apiVersions that are known for a kind."""
        return tuple(version for version, name in self.kinds if name == kind)

    @property
    def origin(self) -> str:
        """Short description of the origin of the schemas of Karpenter's kinds."""
        origins = [kind.origin for kind in self.kinds.values() if not kind.built_in]
        if all(origin is Origin.CLUSTER for origin in origins):
            return "the cluster's CRDs"
        shipped = f"Karpenter {self.shipped}'s CRDs (shipped with karptui)"
        if Origin.CLUSTER not in origins:
            return shipped
        return f"the cluster's CRDs, for kinds it lacks {shipped}"


@cache
def shipped_schemas(version: str = NEWEST.crds) -> Schemas:
    """Load the schemas that come with karptui: Karpenter's kinds and the workload kinds of Kubernetes.

    Args:
        version: Karpenter version whose kinds are used: ``Rules.crds`` of a supported version.
    """
    kinds = (
        *(KindSchema(**entry, origin=Origin.SHIPPED) for entry in _package_data()["karpenter"][version]),
        *_built_in_kinds(),
    )
    return Schemas(kinds={(kind.api_version, kind.kind): kind for kind in kinds}, shipped=version)


def schemas_from_crds(crds: Iterable[Mapping[str, Any]]) -> Schemas:
    """Use the schemas of a cluster's CustomResourceDefinitions, and the shipped ones for missing kinds.

    Args:
        crds: CustomResourceDefinition objects as returned by the API server; other objects are ignored.
    """
    others = shipped_schemas()
    kinds = dict(others.kinds)
    for crd in crds:
        spec = crd.get("spec") or {}
        names = spec.get("names") or {}
        for version in spec.get("versions") or ():
            schema = (version.get("schema") or {}).get("openAPIV3Schema")
            if not version.get("served", True) or not isinstance(schema, dict) or "kind" not in names:
                continue
            api_version = f"{spec.get('group', '')}/{version['name']}"
            kinds[api_version, names["kind"]] = KindSchema(
                api_version=api_version,
                kind=names["kind"],
                plural=names.get("plural", names["kind"].lower() + "s"),
                namespaced=spec.get("scope") == "Namespaced",
                schema=_with_object_fields(_with_offers(schema, _known_schema(others, api_version, names["kind"]))),
                origin=Origin.CLUSTER,
            )
    return Schemas(kinds=kinds, shipped=others.shipped)


OFFERED: Final = "x-karptui-offered"
"""Former fields of a map that is now open: still offered, no longer checked."""


def _known_schema(schemas: Schemas, api_version: str, kind: str) -> Mapping[str, Any]:
    schema = schemas.get(api_version, kind)
    return schema.schema if schema is not None else {}


def _with_offers(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Add the offers of open maps, which a CustomResourceDefinition lacks."""
    fields = schema.get("properties")
    if OFFERED in document and fields is None:
        return {**schema, OFFERED: document[OFFERED]}
    if not isinstance(fields, Mapping):
        return schema
    others = document.get("properties", {})
    return {
        **schema,
        "properties": {
            name: _with_offers(part, others[name]) if name in others else part for name, part in fields.items()
        },
    }


def _with_object_fields(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Add the fields that every object has, which a CustomResourceDefinition need not name."""
    text = {"type": "string"}
    common = {"apiVersion": text, "kind": text, "metadata": {"type": "object"}}
    return {**schema, "properties": {**common, **schema.get("properties", {})}}


@cache
def object_meta() -> Mapping[str, Any]:
    """Give the schema of ``metadata``, which CustomResourceDefinitions leave to the API server."""
    _built_in_kinds()
    schema: Mapping[str, Any] = _package_data()["definitions"]["ObjectMeta"]
    return schema


@cache
def _package_data() -> Mapping[str, Any]:
    packed = resources.files("karptui.whatif.schema").joinpath("data", "schemas.json.gz").read_bytes()
    data: Mapping[str, Any] = json.loads(gzip.decompress(packed))
    return data


@cache
def _built_in_kinds() -> tuple[KindSchema, ...]:
    """Return Kubernetes' own kinds, whose definitions all versions of Karpenter share."""
    data = _package_data()
    definitions: dict[str, dict[str, Any]] = data["definitions"]
    for definition in definitions.values():
        _link(definition, definitions)
    for entry in data["kinds"]:
        _link(entry["schema"], definitions)
    return tuple(KindSchema(**entry, origin=Origin.SHIPPED) for entry in data["kinds"])


def _link(schema: dict[str, Any], definitions: Mapping[str, Mapping[str, Any]]) -> None:
    properties = schema.get("properties", {})
    for name, part in properties.items():
        properties[name] = _linked(part, definitions)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            schema[key] = _linked(schema[key], definitions)


def _linked(part: dict[str, Any], definitions: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    reference = part.get("$ref")
    if reference is None:
        _link(part, definitions)
        return part
    if len(part) == 1:
        return definitions[reference]
    # Keys next to a reference apply to this place only; the fields are shared, so they are linked by then.
    return {**definitions[reference], **{key: value for key, value in part.items() if key != "$ref"}}


def with_defaults(value: Any, schema: Mapping[str, Any]) -> Any:
    """Copy a value with its schema's defaults filled in and nulls that the schema does not allow left out."""
    if isinstance(value, dict):
        return _mapping(value, schema)
    if isinstance(value, list):
        items = schema.get("items")
        return [with_defaults(item, items) for item in value] if isinstance(items, Mapping) else value
    return value


def _mapping(value: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties")
    result: dict[str, Any] = {}
    for name, child in value.items():
        part = properties.get(name, others)
        if not isinstance(part, Mapping):
            result[name] = child
        elif child is not None or part.get("nullable"):
            result[name] = with_defaults(child, part)
    for name, part in properties.items():
        if "default" in part and name not in result:
            result[name] = with_defaults(deepcopy(part["default"]), part)
    return result
