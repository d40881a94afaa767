"""A change as text to copy: which fields, and the command that makes it. karptui runs none of them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final

from karptui.aws.money import node_price_text
from karptui.kube.units import count_text
from karptui.views.pending.remedy_table import gain_text
from karptui.views.sanitize import clean
from karptui.whatif.edits import AnyEdit, DeleteObject, SetField, SetSetting
from karptui.whatif.path import path_text
from karptui.whatif.remedies.pending.remedy import Remedy

_PLURALS: Final[Mapping[str, str]] = {"NodePool": "nodepool", "EC2NodeClass": "ec2nodeclass", "DaemonSet": "daemonset"}
_HELM: Final[Mapping[str, str]] = {"VM_MEMORY_OVERHEAD_PERCENT": "settings.vmMemoryOverheadPercent"}


def remedy_text(remedy: Remedy, pods: str, origin: str, *, try_key: str = "ctrl+t") -> str:
    """Return a change at length.

    Args:
        remedy: The change.
        pods: Name of the pods that it is for.
        origin: ``Kind/namespace/name`` of what they come from.
        try_key: the key that opens a what-if.
    """
    gain = remedy.gain
    price = f", {node_price_text(gain.price_per_hour)}/h" if gain.price_per_hour is not None else ""
    lines = [
        f"{clean(remedy.subject)}: {clean(remedy.words)}",
        "",
        f"Tried on the engine: {count_text(gain.placed)} of {count_text(gain.asked)} of {clean(pods)} find a place.",
        f"They go to {gain_text(gain)}{price}.",
    ]
    if gain.displaced:
        lines.append(
            f"{count_text(len(gain.displaced))} others lose their place: {', '.join(map(clean, gain.displaced))}"
        )
    lines += [
        "",
        *_fields(remedy.edits, origin),
        "",
        f"In the list {try_key} opens it as a what-if. karptui changes nothing itself.",
    ]
    return "\n".join(lines)


def _fields(edits: tuple[AnyEdit, ...], origin: str) -> Iterator[str]:
    of_pods = [edit for edit in edits if isinstance(edit, SetField) and edit.object.kind == "Pod"]
    if of_pods:
        yield from _pod_fields(of_pods, origin)
    for edit in edits:
        match edit:
            case SetField() if edit.object.kind != "Pod":
                yield f"{edit.object.kind} {clean(edit.object.key)}"
                yield f"  {clean(path_text(edit.path))}: {_json(edit.value)}"
                yield ""
                yield _patch(edit)
            case SetSetting():
                yield f"in the environment of Karpenter's controller: {edit.name}={edit.value}"
                if edit.name in _HELM:
                    yield f"in the values of its Helm chart:             {_HELM[edit.name]}={edit.value}"
            case DeleteObject():
                kind = _PLURALS.get(edit.object.kind, edit.object.kind.lower())
                namespace = f" -n {shlex.quote(edit.object.namespace)}" if edit.object.namespace else ""
                yield f"kubectl delete {kind}{namespace} {shlex.quote(clean(edit.object.name))}"
            case _:
                pass


def _pod_fields(edits: list[SetField], origin: str) -> Iterator[str]:
    first = edits[0].object
    kind, _, name = origin.partition("/")
    own = [edit for edit in edits if edit.object == first]
    if kind == "Pod":
        yield f"in the pod {clean(first.key)}, which has to be made anew:"
    else:
        yield f"in the pod template of {clean(kind)} {clean(name)} (spec.template):"
    for edit in own:
        value = "(taken away)" if edit.value is None else _json(edit.value)
        yield f"  {clean(path_text(edit.path))}: {value}"
    if any(edit.path[1:3] == ("containers", 0) for edit in own):
        yield "  The amount is what all containers of a pod ask together."


def _json(value: Any) -> str:
    return "(taken away)" if value is None else clean(json.dumps(value))


def _patch(edit: SetField) -> str:
    name = shlex.quote(clean(edit.object.name))
    kind = _PLURALS.get(edit.object.kind, edit.object.kind.lower())
    if any(isinstance(part, int) for part in edit.path):
        pointer = "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in edit.path)
        change: dict[str, Any] = {"op": "remove", "path": pointer}
        if edit.value is not None:
            change = {"op": "replace", "path": pointer, "value": edit.value}
        return f"kubectl patch {kind} {name} --type=json -p {shlex.quote(json.dumps([change]))}"
    body: Any = edit.value
    for part in reversed(edit.path):
        body = {part: body}
    return f"kubectl patch {kind} {name} --type=merge -p {shlex.quote(json.dumps(body))}"
