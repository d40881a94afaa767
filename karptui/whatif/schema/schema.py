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
from typing import Any, NamedTuple

from karptui.whatif.path import Path
from karptui.whatif.yaml.tree import ProblemSeverity


class Violation(NamedTuple):
    """One sentence about one field."""

    path: Path
    message: str
    severity: ProblemSeverity = ProblemSeverity.ERROR
    on_key: bool = False
    """The field's name is at fault rather than its value."""
    blocks_rules: bool = True
    """Rules over this value or one around it cannot be judged while it stands."""


class Origin(StrEnum):
    """Whose schema it is."""

    CLUSTER = "cluster"
    """The cluster's own CustomResourceDefinition."""
    SHIPPED = "shipped"
    """Karptui's own, of the versions that ``Schemas.shipped_versions`` names."""


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

    def get(self, api_version: str, kind: str) -> KindSchema | None:
        """Find the schema of an apiVersion and kind."""
        return self.kinds.get((api_version, kind))

    def versions(self, kind: str) -> tuple[str, ...]:
        """Name the apiVersions that are known for a kind."""
        return tuple(version for version, name in self.kinds if name == kind)

    @property
    def origin(self) -> str:
        """Says in a few words where the schemas of Karpenter's kinds come from."""
        own = [kind.origin for kind in self.kinds.values() if not kind.built_in]
        if all(origin is Origin.CLUSTER for origin in own):
            return "the cluster's CRDs"
        shipped = f"Karpenter {shipped_versions()['karpenter']}'s CRDs (shipped with karptui)"
        if Origin.CLUSTER not in own:
            return shipped
        return f"the cluster's CRDs, for kinds it lacks {shipped}"


@cache
def shipped_schemas() -> Schemas:
    """Load the schemas that come with karptui: Karpenter's kinds and the workload kinds of Kubernetes."""
    return Schemas(kinds={(kind.api_version, kind.kind): kind for kind in _shipped_kinds()})


def shipped_versions() -> Mapping[str, str]:
    """Name the versions the shipped schemas are of, by project."""
    versions: Mapping[str, str] = _package_data()["versions"]
    return versions


def schemas_from_crds(crds: Iterable[Mapping[str, Any]], *, base: Schemas | None = None) -> Schemas:
    """Take the schemas of a cluster's CustomResourceDefinitions, and for kinds it lacks those of ``base``.

    Args:
        crds: CustomResourceDefinition objects as the API server gives them; what is not one is left out.
        base: Schemas for other kinds; the shipped ones by default.
    """
    kinds = dict((base or shipped_schemas()).kinds)
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
                schema=_with_object_fields(schema),
                origin=Origin.CLUSTER,
            )
    return Schemas(kinds=kinds)


def _with_object_fields(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Add the fields that every object has, which a CustomResourceDefinition need not name."""
    text = {"type": "string"}
    common = {"apiVersion": text, "kind": text, "metadata": {"type": "object"}}
    return {**schema, "properties": {**common, **schema.get("properties", {})}}


@cache
def object_meta() -> Mapping[str, Any]:
    """Give the schema of ``metadata``, which CustomResourceDefinitions leave to the API server."""
    shipped_schemas()
    schema: Mapping[str, Any] = _package_data()["definitions"]["ObjectMeta"]
    return schema


@cache
def _package_data() -> Mapping[str, Any]:
    packed = resources.files("karptui.whatif.schema").joinpath("data", "schemas.json.gz").read_bytes()
    data: Mapping[str, Any] = json.loads(gzip.decompress(packed))
    return data


def _shipped_kinds() -> Iterable[KindSchema]:
    data = _package_data()
    definitions: dict[str, dict[str, Any]] = data["definitions"]
    for definition in definitions.values():
        _link(definition, definitions)
    for entry in data["kinds"]:
        _link(entry["schema"], definitions)
        yield KindSchema(**entry, origin=Origin.SHIPPED)


def _link(schema: dict[str, Any], definitions: Mapping[str, Mapping[str, Any]]) -> None:
    """Put what a schema's parts refer to in their place; definitions that are shared stay shared."""
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
    # What stands beside the reference is said of this place only; the fields are shared, so they are linked by then.
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
