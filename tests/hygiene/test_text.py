"""No file of the repository mentions a developer's machine or a package registry."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LARGEST_BYTES = 2_000_000
HOSTS = ("py" + "pi.org", "python" + "hosted.org", "proxy.go" + "lang.org", "registry.npm" + "js.org", "crates" + ".io")
FOLDERS = re.compile(
    # Folders of a developer's machine, but not those in a container or a URL.
    r"/(?<![\w./~-]/)(?:wo" + r"rk|ro" + r"ot|ho" + r"me/(?!me/|you/)\w+)/"
)


def found(text: str) -> list[int]:
    """Return the places in a text that name a machine's folder or a package registry."""
    hosts = [text.index(host) for host in HOSTS if host in text]
    return [*hosts, *(match.start() for match in FOLDERS.finditer(text))]


def tracked_files() -> list[Path]:
    result = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode:
        pytest.skip("not a git checkout")
    return [path for name in result.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def texts() -> Iterator[tuple[str, str]]:
    for path in tracked_files():
        if path.stat().st_size <= LARGEST_BYTES:
            data = path.read_bytes()
            if b"\0" not in data:
                yield path.relative_to(ROOT).as_posix(), data.decode("utf-8", "replace")


def test_no_text_names_a_machines_folders_or_a_package_registry() -> None:
    result = [
        f"{name}:{text.count(chr(10), 0, place) + 1}: {text[place : place + 20]}"
        for name, text in texts()
        for place in found(text)
    ]
    assert result == []


@pytest.mark.parametrize(("texts", "is_found"), [
    (("see /ro" + "ot/x", "'/wo" + "rk/main/x'", "(/ho" + "me/someone/x)", f"https://{HOSTS[0]}/x"), True),
    (("~/work/notes", "a/work/b", "https://example.com/work/x", "/workspace/x", "/ho" + "me/me/x"), False),
], ids=["found", "passed over"])  # fmt: skip
def test_only_folders_and_registries_are_found(texts: tuple[str, ...], *, is_found: bool) -> None:
    assert [text for text in texts if bool(found(text)) is not is_found] == []
