"""Seeded mutations of objects, most of which make them invalid."""

from __future__ import annotations

import random
from copy import deepcopy
from typing import Any

JUNK: tuple[Any, ...] = (
    None, True, 0, -1, 1, 51, 101, 10**10, 1.5, 5.0, "", "x", "10%", "101%", "30s", "Never", "1h30m", "100Gi", "-1",
    "abc", "Exists", "In", "NotIn", "Gt", "spot", "karpenter.sh/nodepool", "karpenter.sh/other",
    "kubernetes.io/hostname", "UPPER", "a b", "al2@latest", "windows2022@v1", "Custom", "$", "x\n", "é", "a" * 64, [],
    {}, ["x"], ["x", "x"], [1], {"x": "y"}, {"karpenter.sh/nodepool": "y"}, {"": ""}, [{}], "2026-01-31T09:00:00Z",
    "@daily",
)  # fmt: skip


def mutate(value: dict[str, Any], seed: int) -> tuple[dict[str, Any], str]:
    """Return a copy of an object with one to three mutations, and their description."""
    chance = random.Random(seed)
    copy = deepcopy(value)
    done = [_mutate_once(copy, chance) for _ in range(chance.choice((1, 1, 1, 2, 3)))]
    return copy, "; ".join(done)


def _mutate_once(value: dict[str, Any], chance: random.Random) -> str:
    places = [place for place in _places(value, ()) if place[0][:1] == ("spec",) and place[0] != ("spec",)]
    if not places:
        return "nothing"
    path, around, step = chance.choice(places)
    match chance.randrange(7):
        case 0:
            del around[step]
            return f"del {path}"
        case 1 | 2 | 3:
            around[step] = deepcopy(chance.choice(JUNK))
            return f"{path} = {around[step]!r}"
        case 4 if isinstance(around, list):
            around.append(deepcopy(around[step]))
            return f"twice {path}"
        case 4:
            around["unknownField" if chance.random() < 0.3 else f"{step}x"] = 1
            return f"more at {path}"
        case 5:
            other = chance.choice(places)
            around[step] = deepcopy(other[1][other[2]]) if other[0][: len(path)] != path else "other"
            return f"{path} = {other[0]}"
        case _:
            inner = around[step]
            if isinstance(inner, list):
                inner.append(deepcopy(chance.choice(JUNK)))
                return f"item at {path}"
            if isinstance(inner, dict):
                inner[chance.choice(("cpu", "weight", "name", "id", "values", "a.b/c", "karpenter.sh/x"))] = (
                    chance.choice(JUNK)
                )
                return f"field at {path}"
            around[step] = f"{inner}x"
            return f"{path} = {around[step]!r}"


def _places(value: Any, path: tuple[Any, ...]) -> list[tuple[tuple[Any, ...], Any, Any]]:
    result: list[tuple[tuple[Any, ...], Any, Any]] = []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, child in pairs:
        result.append(((*path, step), value, step))
        result += _places(child, (*path, step))
    return result
