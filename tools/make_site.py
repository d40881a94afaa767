"""Make the documentation site: python tools/make_site.py FOLDER, then zensical build --strict in FOLDER.

The pages of the repository keep their folders, so that their links work. Each line ``$ karptui …`` of an indented block
is run, and its output is shown below it.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("docs", "snapshots", "deploy", "contrib")
HOME: Final = "index.md"
NAVIGATION: Final = {
    "Tasks": "tasks install by-question stories pains plan pause rollout rightsize actions coming-from vs",
    "Why": "verdict why-nodes-stay pending pools churn advice what-if forward solve history",
    "Reference": "headless what-if-headless keys screens configuration snapshots types-and-prices aws-access plugins "
    "mcp compatibility versions troubleshooting glossary",
    "Internals": "how-we-know forward-compared model-provisioning model-disruption model-aws architecture reliability "
    "security",
}
"""Pages of each section; all other pages are in Reference."""
OUTPUT: Final = re.compile(r"^    \$ (karptui .+)$", re.MULTILINE)
LONGEST_LINES: Final = 40
STATUSES: Final = (0, 1)


def main(folder: str) -> None:
    """Write pages and configuration into a folder."""
    target = Path(folder)
    pages = target / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, pages / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("CONTRIBUTING.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "SECURITY.md", "LICENSE"):
        shutil.copy(ROOT / name, pages / name)
    shutil.copy(ROOT / "README.md", pages / HOME)
    for page in (pages / "docs").glob("*.md"):
        page.write_text(with_outputs(page.read_text(encoding="utf-8"), run), encoding="utf-8")
    (target / "zensical.toml").write_text(configuration(), encoding="utf-8")


def with_outputs(text: str, run: Callable[[str], str]) -> str:
    """Return a page with the output of each command below it."""

    def block(match: re.Match[str]) -> str:
        lines = run(match[1]).rstrip().splitlines()
        more = len(lines) - LONGEST_LINES
        cut = [*lines[:LONGEST_LINES], f"… {more} more lines"] if more > 0 else lines
        return "\n".join(("```console", f"$ {match[1]}", *(line.replace("```", "'''") for line in cut), "```"))

    return OUTPUT.sub(block, text)


def run(command: str) -> str:
    """Return the output of a command, or raise if it fails; exit status 1 is an answer, such as not rolled out."""
    words = [sys.executable, "-m", "karptui", *shlex.split(command)[1:]]
    result = subprocess.run(words, capture_output=True, text=True, check=False, env={"PATH": "", "COLUMNS": "120"})
    if result.returncode not in STATUSES:
        raise SystemExit(f"{command}: status {result.returncode}: {result.stderr}")
    return result.stdout


def sections() -> dict[str, list[str]]:
    """Return the pages of each section that exist."""
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}
    listed = {title: [page for page in named.split() if page in pages] for title, named in NAVIGATION.items()}
    listed["Reference"] += sorted(pages - {page for named in listed.values() for page in named})
    return listed


def configuration() -> str:
    """Return the configuration of the site generator."""
    entries = [
        f"  {{ {title!r} = [{', '.join(repr(f'docs/{page}.md') for page in pages)}] }},"
        for title, pages in sections().items()
    ]
    return "\n".join(
        (
            "[project]",
            'site_name = "karptui"',
            'site_description = "Know what Karpenter does next, and why"',
            'docs_dir = "pages"',
            'site_dir = "site"',
            "nav = [",
            f"  {{ 'Home' = '{HOME}' }},",
            *entries,
            "  { 'Changes' = 'CHANGELOG.md' },",
            "  { 'Contributing' = 'CONTRIBUTING.md' },",
            "]",
            "",
            "[project.theme]",
            'features = ["navigation.tabs", "navigation.top", "search.highlight", "content.code.copy"]',
            "",
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
