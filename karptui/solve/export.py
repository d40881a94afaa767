"""The edits of an answer as manifests or kubectl commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from karptui.karpenter.settings import Settings
from karptui.solve.answer import Solved
from karptui.whatif.edits import AnyEdit, ObjectRef, SetField
from karptui.whatif.schema.schema import shipped_schemas
from karptui.whatif.situation import WhatIfBase
from karptui.whatif.yaml.export import Change, changes_of, export_commands, export_yaml
from karptui.whatif.yaml.parse import parse
from karptui.whatif.yaml.splice import REMOVE, EditRefusedError, set_value
from karptui.whatif.yaml.write import as_document


def manifests_text(base: WhatIfBase, solved: Solved) -> str:
    """Return the edited NodePools and NodeClasses as YAML."""
    changes, rest = _changes(base, solved.scenario.edits)
    text = export_yaml(changes)
    if rest:
        text += f"# and {len(rest)} edits that are no manifest: -o patch has them\n"
    return text or "# nothing is edited\n"


def commands_text(base: WhatIfBase, solved: Solved) -> str:
    """Return kubectl commands that make the edits."""
    changes, rest = _changes(base, solved.scenario.edits)
    settings: Settings = base.settings
    commands = export_commands(changes, rest, shipped_schemas(settings.rules.crds), gates=settings.gates)
    return f"# Nothing has been applied. Check each line before you run it.\n{commands}"


def _changes(base: WhatIfBase, edits: Iterable[AnyEdit]) -> tuple[tuple[Change, ...], tuple[AnyEdit, ...]]:
    originals: dict[ObjectRef, Mapping[str, Any]] = {}
    texts: dict[ObjectRef, str] = {}
    rest: list[AnyEdit] = []
    for edit in edits:
        raw = _document(base, edit.object) if isinstance(edit, SetField) else None
        if raw is None or not isinstance(edit, SetField):
            rest.append(edit)
            continue
        originals.setdefault(edit.object, raw)
        text = texts.get(edit.object) or as_document(raw)
        try:
            texts[edit.object] = set_value(text, edit.object, edit.path, REMOVE if edit.value is None else edit.value)
        except EditRefusedError:
            rest.append(edit)
    changes = [change for text in texts.values() for change in changes_of(parse(text), originals)]
    return tuple(changes), tuple(rest)


def _document(base: WhatIfBase, ref: ObjectRef) -> dict[str, Any] | None:
    if ref.kind == "NodePool":
        pool = next((one for one in base.inventory.nodepools if one.name == ref.name and one.raw), None)
        return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", **pool.raw} if pool is not None else None
    nodeclass = next((one for one in base.inventory.nodeclasses if one.name == ref.name and one.raw), None)
    if nodeclass is None or nodeclass.kind != ref.kind:
        return None
    own = {"apiVersion": f"{nodeclass.group}/{nodeclass.version}", "kind": nodeclass.kind}
    return {**own, **nodeclass.raw}
