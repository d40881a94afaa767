r"""Make the schemas that the what-if editor checks and completes with where no cluster says otherwise.

    python tools/make_schemas.py CRDS OPENAPI [--out karptui/whatif/schema/data]

CRDS is a folder with one JSON file per kind of Karpenter: source, group, kind, plural, scope and versions, each with
its openAPIV3Schema as `schema`. OPENAPI is a folder with the API server's own description of its kinds:

    for at in api/v1 apis/apps/v1 apis/batch/v1 apis/policy/v1; do
        kubectl get --raw /openapi/v3/$at > OPENAPI/${at//\//_}.json
    done
    kubectl version --output json > OPENAPI/version.json

Kubernetes' kinds keep what validation and completion need: fields, types, enums, required and list keys. Definitions
that several kinds share, a pod's first of all, are stored once. The output is deterministic.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

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
STATUS = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("crds", type=Path, help="folder with Karpenter's schemas")
    parser.add_argument("openapi", type=Path, help="folder with the API server's OpenAPI v3 documents")
    default = Path(__file__).resolve().parent.parent / "karptui" / "whatif" / "documents" / "data"
    parser.add_argument("--out", type=Path, default=default)
    arguments = parser.parse_args()
    version = json.loads((arguments.openapi / "version.json").read_text())
    version = version.get("serverVersion", version)["gitVersion"].removeprefix("v")
    crds = list(karpenter_kinds(arguments.crds))
    definitions: dict[str, Any] = {}
    kinds = [entry for _, entry in crds] + list(built_in_kinds(arguments.openapi, definitions))
    data = {
        "versions": {"karpenter": crds[0][0], "kubernetes": version},
        "definitions": dict(sorted(definitions.items())),
        "kinds": kinds,
    }
    raw = json.dumps(data, separators=(",", ":"), sort_keys=True).encode()
    arguments.out.mkdir(parents=True, exist_ok=True)
    packed = gzip.compress(raw, 9, mtime=0)
    (arguments.out / "schemas.json.gz").write_bytes(packed)
    print(f"schemas.json.gz: {len(kinds)} kinds, {len(raw):,} bytes, {len(packed):,} packed")


def karpenter_kinds(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(folder.glob("*.json"), key=lambda path: (path.stem != "NodePool", path.stem)):
        crd = json.loads(path.read_text())
        for version in crd["versions"]:
            yield (
                crd["source"].rpartition("v")[2],
                {
                    "api_version": f"{crd['group']}/{version['name']}",
                    "kind": crd["kind"],
                    "plural": crd["plural"],
                    "namespaced": crd["scope"] == "Namespaced",
                    "schema": version["schema"],
                },
            )


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
    """Returns a definition with references to others, which it adds to ``definitions``."""
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
    # List and patch keys stand beside the reference, not in what it refers to.
    return {"$ref": short, **{key: schema[key] for key in KEPT if key in schema and key.startswith("x-")}}


if __name__ == "__main__":
    main()
