"""What is known against the packages that are locked, said in a sentence: ``python tools/audit.py PIP_AUDIT LOCK``.

It reports and never fails: the list of what is known may be out of reach.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, Final

MOST_SECONDS: Final = 60
ANSWER_SECONDS: Final = 10


def report(document: dict[str, Any]) -> list[str]:
    """Return lines for what pip-audit found: each package something is known against, and a sentence on all."""
    packages = document.get("dependencies") or []
    asked = [one for one in packages if "skip_reason" not in one]
    known = [one for one in asked if one.get("vulns")]
    lines = [
        f"{one['name']} {one['version']}: {', '.join(each['id'] for each in one['vulns'])}"
        + (f"; mended in {fixes}" if (fixes := _fixes(one["vulns"])) else "")
        for one in known
    ]
    if not asked:
        why = next((str(one["skip_reason"]) for one in packages), "nothing is locked")
        return [f"audit: nobody could be asked about any of {len(packages)} packages ({_short(why)})"]
    missing = f"; nobody could be asked about {len(packages) - len(asked)} more" if len(asked) < len(packages) else ""
    return [*lines, f"audit: something is known against {len(known)} of {len(asked)} packages{missing}"]


def _fixes(vulnerabilities: list[dict[str, Any]]) -> str:
    return ", ".join(sorted({version for one in vulnerabilities for version in one.get("fix_versions") or ()}))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else f"{line[:119]}…"


def main(program: str, lock: str) -> None:
    """Ask, and print what comes of it."""
    flags = ["--disable-pip", "--require-hashes", "--progress-spinner", "off", "--timeout", str(ANSWER_SECONDS)]
    try:
        ended = subprocess.run(
            [program, *flags, "--format", "json", "-r", lock],
            capture_output=True,
            text=True,
            check=False,
            timeout=MOST_SECONDS,
        )
        lines = report(json.loads(ended.stdout))
    except subprocess.TimeoutExpired:
        lines = [f"audit: nobody answered within {MOST_SECONDS} s"]
    except (OSError, ValueError):
        lines = ["audit: nobody could be asked"]
    print("\n".join(lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
