"""Report known vulnerabilities of the locked packages: ``python tools/audit.py PIP_AUDIT LOCK``.

It never fails, because the database may be unreachable.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, Final

MOST_SECONDS: Final = 60
ANSWER_SECONDS: Final = 10


def report(document: dict[str, Any]) -> list[str]:
    """Return a line for each package with vulnerabilities, and a summary."""
    packages = document.get("dependencies") or []
    checked = [package for package in packages if "skip_reason" not in package]
    vulnerable = [package for package in checked if package.get("vulns")]
    lines = [
        f"{package['name']} {package['version']}: {', '.join(each['id'] for each in package['vulns'])}"
        + (f"; fixed in {fixes}" if (fixes := _fixes(package["vulns"])) else "")
        for package in vulnerable
    ]
    if not checked:
        why = next((str(package["skip_reason"]) for package in packages), "nothing is locked")
        return [f"audit: none of {len(packages)} packages could be checked ({_short(why)})"]
    missing = f"; {len(packages) - len(checked)} more could not be checked" if len(checked) < len(packages) else ""
    return [*lines, f"audit: {len(vulnerable)} of {len(checked)} packages have known vulnerabilities{missing}"]


def _fixes(vulnerabilities: list[dict[str, Any]]) -> str:
    return ", ".join(sorted({version for each in vulnerabilities for version in each.get("fix_versions") or ()}))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else f"{line[:119]}…"


def main(program: str, lock: str) -> None:
    """Check the packages, and print the result."""
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
        lines = [f"audit: no answer within {MOST_SECONDS} s"]
    except (OSError, ValueError):
        lines = ["audit: the packages could not be checked"]
    print("\n".join(lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
