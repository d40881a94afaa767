"""Judge karptui's answers about an incident as check.py does, within this process."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karptui.cli.main import main


@dataclass(frozen=True)
class Verdict:
    """Points from 0 to 3, and what falls short."""

    points: int
    shortfalls: tuple[str, ...]


def ask(command: Sequence[str], snapshot: Path) -> str:
    """Return what karptui prints for a command about a snapshot."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        status = main([*command, "--snapshot", str(snapshot)])
    assert status != 2, f"karptui {' '.join(command)} refuses {snapshot}"
    return out.getvalue()


def hit(pattern: str, text: str) -> bool:
    """Return whether a pattern is in a text, in upper or lower case."""
    return re.search(pattern, text, re.IGNORECASE | re.DOTALL) is not None


def missing(facts: Iterable[Sequence[str]], text: str) -> list[str]:
    """Return the facts of which no alternative is in a text."""
    return [" | ".join(fact) for fact in facts if not any(hit(pattern, text) for pattern in fact)]


def judge(expect: Mapping[str, Any], snapshot: Path) -> Verdict:
    """Return the points of an incident: 0 for a false claim, 3 for all facts in the first findings and all other checks."""
    findings = json.loads(ask(["verdict", "-o", "json"], snapshot))
    result = "\n".join(finding.get("text", "") for finding in findings)
    first = findings[: expect.get("first", 3)]
    shown = "\n".join(item.get("text", "") + "\n" + json.dumps(item, ensure_ascii=False) for item in first)
    whole = ask(["verdict"], snapshot) + "\n" + result
    false = [f"false: {pattern}" for pattern in expect.get("mustNot", ()) if hit(pattern, whole)]
    absent = missing(expect["must"], shown)
    others = []
    for check in expect.get("other", ()):
        text = ask(check["command"], snapshot)
        others += [f"{check['command']}: missing {item}" for item in missing(check.get("must", ()), text)]
        others += [f"{check['command']}: false {item}" for item in check.get("mustNot", ()) if hit(item, text)]
    short = (*false, *(f"missing: {text}" for text in absent), *others)
    if false:
        return Verdict(0, short)
    if not absent and not others:
        return Verdict(3, short)
    return Verdict(2 if 2 * len(absent) <= len(expect["must"]) else 1, short)
