r"""Make the shipped schemas: the what-if editor uses them if the cluster provides none.

    python tools/make_schemas.py VERSION=CRDS [VERSION=CRDS ...] [--openapi OPENAPI] [--out karptui/whatif/schema/data]

CRDS is a folder with the CustomResourceDefinitions of one version of Karpenter, either YAML as in pkg/apis/crds of its
AWS provider and kwok/apis/crds of its core, or a JSON file per kind: group, kind, plural, scope and versions, each with
its openAPIV3Schema as `schema`. A version may have several folders; a kind that it lacks is taken from the version
before. OPENAPI is a folder with the API server's OpenAPI documents; without it, the kinds of Kubernetes do not change:

    for at in api/v1 apis/apps/v1 apis/batch/v1 apis/policy/v1; do
        kubectl get --raw /openapi/v3/$at > OPENAPI/${at//\//_}.json
    done
    kubectl version --output json > OPENAPI/version.json

The kinds of Kubernetes keep only fields, types, enums, required fields and list keys, for validation and completion.
Definitions that several kinds share, such as a pod's, are stored once. The output is deterministic.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

BUILT_IN = (
    ("api/v1", "v1", "Pod", "pods", "io.k8s.api.core.v1.Pod"),
    ("apis/apps/v1", "apps/v1", "Deployment", "deployments", "io.k8s.api.apps.v1.Deployment"),
    ("apis/apps/v1", "apps/v1", "StatefulSet", "statefulsets", "io.k8s.api.apps.v1.StatefulSet"),
    ("apis/apps/v1", "apps/v1", "DaemonSet", "daemonsets", "io.k8s.api.apps.v1.DaemonSet"),
    ("apis/apps/v1", "apps/v1", "ReplicaSet", "replicasets", "io.k8s.api.apps.v1.ReplicaSet"),
    ("apis/batch/v1", "batch/v1", "Job", "jobs", "io.k8s.api.batch.v1.Job"),
    ("apis/batch/v1", "batch/v1", "CronJob", "cronjobs", "io.k8s.api.batch.v1.CronJob"),
    (
        "apis/policy/v1",
        "policy/v1",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        "io.k8s.api.policy.v1.PodDisruptionBudget",
    ),
)
META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
KEPT = (
    "type",
    "enum",
    "format",
    "required",
    "minimum",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
)
QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
REPLACED: Mapping[str, Mapping[str, Any]] = {
    "Quantity": {"format": "quantity", "pattern": QUANTITY_PATTERN},
    "IntOrString": {"x-kubernetes-int-or-string": True},
    "FieldsV1": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}
OPEN = "x-kubernetes-preserve-unknown-fields"
OFFERED = "x-karptui-offered"
STATUS = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("crds", nargs="+", metavar="VERSION=CRDS", help="Karpenter's schemas by version, oldest first")
    parser.add_argument("--openapi", type=Path, help="folder with the API server's OpenAPI v3 documents")
    default = Path(__file__).resolve().parent.parent / "karptui" / "whatif" / "schema" / "data"
    parser.add_argument("--out", type=Path, default=default)
    arguments = parser.parse_args()
    path: Path = arguments.out / "schemas.json.gz"
    data = kubernetes(arguments.openapi) if arguments.openapi else json.loads(gzip.decompress(path.read_bytes()))
    data["karpenter"] = by_version(text.split("=", 1) for text in arguments.crds)
    raw = json.dumps(data, separators=(",", ":"), sort_keys=True).encode()
    arguments.out.mkdir(parents=True, exist_ok=True)
    packed = gzip.compress(raw, 9, mtime=0)
    path.write_bytes(packed)
    print(f"schemas.json.gz: {len(data['kinds'])} kinds of Kubernetes, {len(raw):,} bytes, {len(packed):,} packed")
    for version, kinds in data["karpenter"].items():
        print(f"Karpenter {version}: {', '.join(kind['kind'] for kind in kinds)}")


def kubernetes(openapi: Path) -> dict[str, Any]:
    version = json.loads((openapi / "version.json").read_text())
    version = version.get("serverVersion", version)["gitVersion"].removeprefix("v")
    definitions: dict[str, Any] = {}
    kinds = list(built_in_kinds(openapi, definitions))
    return {"kubernetes": version, "definitions": dict(sorted(definitions.items())), "kinds": kinds}


def by_version(folders: Iterable[Sequence[str]]) -> dict[str, list[dict[str, Any]]]:
    made: dict[str, list[dict[str, Any]]] = {}
    known: dict[str, dict[str, Any]] = {}
    for version, folder in folders:
        for kind in karpenter_kinds(Path(folder)):
            before = known.get(kind["kind"])
            known[kind["kind"]] = {**kind, "schema": with_names(kind["schema"], before["schema"] if before else {})}
        made[version] = [known[name] for name in sorted(known, key=lambda name: (name != "NodePool", name))]
    return made


def with_names(schema: Any, before: Any) -> Any:
    """Return a schema in which each object that became an open map still offers its former fields for completion."""
    if not isinstance(schema, dict) or not isinstance(before, dict):
        return schema
    named, fields = before.get("properties", {}), schema.get("properties")
    if named and fields is None and schema.get(OPEN):
        return {**schema, OFFERED: before}
    if not fields:
        return schema
    return {**schema, "properties": {name: with_names(part, named.get(name)) for name, part in fields.items()}}


def karpenter_kinds(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted((*folder.glob("*.json"), *folder.glob("*.yaml"))):
        crd = json.loads(path.read_text()) if path.suffix == ".json" else definition(yaml.safe_load(path.read_text()))
        for version in crd["versions"]:
            yield {
                "api_version": f"{crd['group']}/{version['name']}",
                "kind": crd["kind"],
                "plural": crd["plural"],
                "namespaced": crd["scope"] == "Namespaced",
                "schema": version["schema"],
            }


def definition(crd: Mapping[str, Any]) -> dict[str, Any]:
    spec = crd["spec"]
    versions = [
        {"name": one["name"], "schema": undescribed(one["schema"]["openAPIV3Schema"])}
        for one in spec["versions"]
        if one.get("served", True)
    ]
    names = spec["names"]
    return {
        "group": spec["group"],
        "kind": names["kind"],
        "plural": names["plural"],
        "scope": spec["scope"],
        "versions": versions,
    }


def undescribed(schema: Any) -> Any:
    """Return a schema without descriptions."""
    if not isinstance(schema, dict):
        return schema
    made = {key: value for key, value in schema.items() if key != "description"}
    for key in ("items", "additionalProperties"):
        if key in made:
            made[key] = undescribed(made[key])
    if "properties" in made:
        made["properties"] = {key: undescribed(value) for key, value in made["properties"].items()}
    return made


def built_in_kinds(folder: Path, definitions: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for group_path, api_version, kind, plural, definition in BUILT_IN:
        document = json.loads((folder / f"{group_path.replace('/', '_')}.json").read_text())
        schema = compact(document["components"]["schemas"], definition, definitions)
        schema["properties"]["status"] = STATUS
        yield {
            "api_version": api_version,
            "kind": kind,
            "plural": plural,
            "namespaced": True,
            "schema": schema,
            "built_in": True,
        }


def compact(schemas: Mapping[str, Any], name: str, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return a reduced definition; the definitions that it refers to are added to ``definitions``."""
    return reduced(schemas, schemas[name], definitions)


def reduced(schemas: Mapping[str, Any], schema: Mapping[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf", ()) if "$ref" in part), None)
    if reference:
        return referred(schemas, reference.rpartition("/")[2], schema, definitions)
    result: dict[str, Any] = {key: schema[key] for key in KEPT if key in schema}
    if schema.get("default") not in (None, {}, ""):
        result["default"] = schema["default"]
    if "properties" in schema:
        result["properties"] = {
            key: reduced(schemas, value, definitions) for key, value in schema["properties"].items() if key != "status"
        }
    for key in ("items", "additionalProperties"):
        if key in schema:
            result[key] = reduced(schemas, schema[key], definitions)
    return result


def referred(
    schemas: Mapping[str, Any], name: str, schema: Mapping[str, Any], definitions: dict[str, Any]
) -> dict[str, Any]:
    short = name.rpartition(".")[2]
    if short in REPLACED:
        return dict(REPLACED[short])
    target = schemas[name]
    if target.get("type") not in (None, "object"):
        return reduced(schemas, target, definitions)
    if short not in definitions:
        definitions[short] = {}
        definitions[short] = reduced(schemas, target, definitions)
    # List and patch keys are next to the reference, not in the definition.
    return {"$ref": short, **{key: schema[key] for key in KEPT if key in schema and key.startswith("x-")}}


if __name__ == "__main__":
    main()
