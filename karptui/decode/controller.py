"""Reads the version and settings of Karpenter's controller from its Deployment or pod.

Only the settings in ``SETTING_NAMES`` are read. Values from ConfigMaps, Secrets or other variables are listed but not
resolved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from karptui.decode.loose import mapping, mappings, text
from karptui.karpenter.controller import (
    NAME,
    NAME_LABEL,
    SETTING_NAMES,
    ControllerInfo,
    chart_version,
    image_version,
    parse_version,
)

_FLAGS: Final = {name.lower().replace("_", "-"): name for name in SETTING_NAMES}
_SWITCHES: Final = frozenset(
    {
        "disable-cluster-state-observability",
        "disable-controller-warmup",
        "disable-dry-run",
        "disable-leader-election",
        "eks-control-plane",
        "enable-profiling",
        "enable-zonal-shift",
        "ignore-dra-requests",
        "isolated-vpc",
    }
)
"""Boolean flags that need no value."""
VERSION_LABELS: Final = (("app.kubernetes.io/version", parse_version), ("helm.sh/chart", chart_version))
"""Labels that contain a version, with their parsers."""


OWN_NAMESPACE: Final = "kube-system"
"""Namespace that only cluster administrators can write to."""
USUAL_NAMESPACE: Final = "karpenter"
"""Namespace searched for Karpenter if nothing points to another; an object there is not proven to be Karpenter."""


def namespaces_of(controller: ControllerInfo | None) -> frozenset[str]:
    """Return the namespaces in which a label suffices: Karpenter's proven one, or the usual ones if none is proven."""
    if controller is not None and controller.namespace:
        return frozenset({controller.namespace})
    return frozenset({OWN_NAMESPACE, USUAL_NAMESPACE})


def is_labelled(document: Mapping[str, Any]) -> bool:
    """Return whether an object is labelled as Karpenter, which anybody can do."""
    return text(document, "metadata", "labels", NAME_LABEL) == NAME


def is_idle(document: Mapping[str, Any]) -> bool:
    """Return whether a Deployment has no replicas, or a pod is not running."""
    spec, status = (mapping(document, name) for name in ("spec", "status"))
    return spec.get("replicas") == 0 or status.get("phase", "Running") != "Running"


def order_of(document: Mapping[str, Any]) -> tuple[bool, str, str]:
    """Return a sort key for candidates: running ones first, then by name."""
    metadata = mapping(document, "metadata")
    return is_idle(document), str(metadata.get("namespace", "")), str(metadata.get("name", ""))


def decode_controller(document: Mapping[str, Any], kind: str) -> ControllerInfo:
    """Return the controller's version and settings in a Deployment or pod; malformed fields are ignored.

    Args:
        kind: ``Deployment`` or ``Pod``.
    """
    metadata = mapping(document, "metadata")
    title = f"{kind} {metadata.get('namespace', '')}/{metadata.get('name', '')}"
    spec = mapping(document, "spec") if kind == "Deployment" else {}
    template = mapping(spec, "template") if kind == "Deployment" else document
    replicas = spec.get("replicas")
    container = _controller_of(mappings(template, "spec", "containers"))
    values, unknown = _variables(mappings(container, "env"))
    for name, value in _flags([arg for arg in _list(container.get("args")) if isinstance(arg, str)]):
        values.pop(name, None)
        unknown.pop(name, None)
        if "$(" in value:
            unknown[name] = f"other variables ({value})"
        else:
            values[name] = value
    return ControllerInfo(
        title=title,
        namespace=str(metadata.get("namespace", "")),
        version=_version(container, (metadata, mapping(template, "metadata"))),
        settings=values,
        unknown=unknown,
        from_elsewhere=tuple(_from_elsewhere(mappings(container, "envFrom"))),
        replicas=replicas if isinstance(replicas, int) else None,
    )


def _controller_of(containers: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    by_name = [container for container in containers if container.get("name") == "controller"]
    by_image = [container for container in containers if "karpenter" in str(container.get("image", ""))]
    return next(iter((*by_name, *by_image, *containers)), {})


def _variables(env: Iterable[Mapping[str, Any]]) -> tuple[dict[str, str], dict[str, str]]:
    """Return settings by name, and the sources of settings without a literal value; later entries override."""
    values: dict[str, str] = {}
    unknown: dict[str, str] = {}
    for variable in env:
        name, value = variable.get("name"), variable.get("value", "")
        if name not in SETTING_NAMES or not isinstance(name, str):
            continue
        values.pop(name, None)
        unknown.pop(name, None)
        if "valueFrom" in variable:
            unknown[name] = _reference(variable["valueFrom"])
        elif isinstance(value, str) and "$(" in value:
            unknown[name] = f"other variables ({value})"
        elif isinstance(value, str):
            values[name] = value
    return values, unknown


def _reference(source: Mapping[str, Any]) -> str:
    for field, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
        if field in mapping(source):
            return f"{kind} {text(source, field, 'name')}".rstrip()
    return "the pod's own fields"


def _from_elsewhere(sources: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for source in sources:
        for field, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            if field in source:
                yield f"{kind} {text(source, field, 'name')}".rstrip()


def _flags(args: list[str]) -> Iterator[tuple[str, str]]:
    """Yield settings given as flags, parsed as by Go's flag package, which stops at the first other argument."""
    words = iter(args)
    for word in words:
        if not word.startswith("-") or word in ("-", "--"):
            return
        name, has_value, value = word.lstrip("-").partition("=")
        if not has_value:
            value = "true" if name in _SWITCHES else next(words, "")
        if name in _FLAGS:
            yield _FLAGS[name], value


def _version(container: Mapping[str, Any], metadata: Iterable[Mapping[str, Any]]) -> str:
    """Return the version by the container image, otherwise by the chart's labels."""
    version = image_version(str(container.get("image", "")))
    if version:
        return version
    for meta in metadata:
        labels = mapping(meta, "labels")
        for label, parse in VERSION_LABELS:
            version = parse(str(labels.get(label, "")))
            if version:
                return version
    return ""


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
