"""Golden snapshots and manifests as bases of a what-if."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

from msgspec.structs import replace

from karptui.decode.kinds import kind_of
from karptui.decode.reader import KindReader
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.settings import parse_settings
from karptui.kube.timestamps import parse_timestamp
from karptui.sources.snapshot.objects import Manifest, ObjectPile
from karptui.whatif.situation import TypesResult, WhatIfBase
from tests.builders import present
from tests.goldens_loading import GOLDENS, scenarios

FOLDER = GOLDENS / "karpenter-1.14.1"


def documents(family: str) -> Iterator[dict[str, Any]]:
    return (scenario["snapshot"] for scenario in scenarios(FOLDER / f"{family}.jsonl.gz"))


@lru_cache(maxsize=16)
def catalog(name: str) -> tuple[InstanceType, ...]:
    from karptui.sources.snapshot.instance_types import Catalogs

    value = json.loads(gzip.decompress((FOLDER / f"{name}.gz").read_bytes()))
    return Catalogs().of_value(value, name)


def base_of(document: dict[str, Any]) -> WhatIfBase:
    pile = ObjectPile()
    for index, value in enumerate(document["objects"]):
        pile.add(Manifest(value, f"objects[{index}]"), "golden", has_defaults=True)
    assert not pile.problems
    if "catalog" in document:
        types = catalog(document["catalog"])
    else:
        from karptui.sources.snapshot.instance_types import Catalogs

        types = Catalogs().of_value(document.get("instanceTypes", []), "golden")
    settings = parse_settings({name: str(value) for name, value in document.get("settings", {}).items()})
    given = TypesResult(types, is_fixed=True)
    return WhatIfBase(pile.inventory(), partial(_given, given), settings, parse_timestamp(document["capturedAt"]))


def base(
    *manifests: dict[str, Any], types: Any = (), settings: dict[str, str] | None = None, **others: Any
) -> WhatIfBase:
    """Return a base with these manifests; ``others`` replace fields of its ``Inventory``."""
    from tests.builders import NOW_NS

    pile = ObjectPile()
    for index, value in enumerate(manifests):
        pile.add(Manifest(value, f"objects[{index}]"), "test", has_defaults=True)
    assert not pile.problems, pile.problems
    inventory = pile.inventory()
    fields = {name: getattr(inventory, name) for name in Inventory.__struct_fields__}
    whole = Inventory(**{**fields, **others})
    given = TypesResult(tuple(types))
    return WhatIfBase(whole, partial(_given, given), parse_settings(settings or {}), NOW_NS)


def with_objects(start: WhatIfBase, now_ns: int | None = None, **fields: Any) -> WhatIfBase:
    """Return a base with the same types; ``fields`` replace those of its ``Inventory``."""
    inventory, given = replace(start.inventory, **fields), partial(_given, start.types)
    return WhatIfBase(inventory, given, start.settings, start.now_ns if now_ns is None else now_ns)


def _given(types: TypesResult, *_: object) -> TypesResult:
    """Return these types for any cluster; a module-level function, so that bases can be pickled."""
    return types


def decoded(manifest: dict[str, Any]) -> Any:
    """Return the decoded object of a manifest."""
    kind = present(kind_of(manifest["apiVersion"], manifest["kind"]))
    return KindReader(kind, api_version=manifest["apiVersion"], api_kind=manifest["kind"]).convert(manifest)
