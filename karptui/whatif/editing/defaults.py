"""What the API server fills in when a NodePool or EC2NodeClass is stored: the defaults of its schema.

Source: the ``+kubebuilder:default`` markers of pkg/apis/v1/nodepool.go and of the AWS provider's ec2nodeclass.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from karptui.whatif.editing.document_path import with_field
from karptui.whatif.path import value_at

_DEFAULTS: Final[Mapping[str, tuple[tuple[tuple[str, ...], Any], ...]]] = {
    "NodePool": (
        (("spec", "disruption"), {"consolidateAfter": "0s"}),
        (("spec", "disruption", "consolidationPolicy"), "WhenEmptyOrUnderutilized"),
        (("spec", "disruption", "budgets"), [{"nodes": "10%"}]),
        (("spec", "template", "spec", "expireAfter"), "720h"),
    ),
    "EC2NodeClass": (
        (("spec", "metadataOptions"), {}),
        (("spec", "metadataOptions", "httpEndpoint"), "enabled"),
        (("spec", "metadataOptions", "httpProtocolIPv6"), "disabled"),
        (("spec", "metadataOptions", "httpPutResponseHopLimit"), 1),
        (("spec", "metadataOptions", "httpTokens"), "required"),
    ),
}
_MISSING: Final = object()


def with_defaults(document: Mapping[str, Any], present: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return an object as it is stored.

    A snapshot written by hand has objects that never saw an API server. So that nothing changes but what an edit says,
    a default is filled in only where the object that is there has the field.

    Args:
        document: The object, with its kind.
        present: The object in whose place it is put, None for a new one.

    Raises:
        EditError: when something that must be an object is not.
    """
    made = dict(document)
    for path, value in _DEFAULTS.get(str(document["kind"]), ()):
        if value_at(made, path, _MISSING) is not _MISSING:
            continue
        if present is None or value_at(present, path, _MISSING) is not _MISSING:
            made = with_field(made, path, value)
    return made
