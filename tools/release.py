"""Make all files of a release in dist/: python tools/release.py VERSION [--url URL] [--single-file].

Makes sdist and wheel, a single file for this platform, checksums, a bill of materials, and notes from the changelog;
with the download URL of the files (--url), also a Homebrew formula and a krew manifest. All are made from the commit of
the tag vVERSION, and the same commit gives the same bytes. ``--dry-run`` uses HEAD, with or without a tag.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from string import Template
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("aws", "cel")
"""Extras to include in the single file, if the environment has them."""
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
BREW = {"linux": "linux", "darwin": "macos", "amd64": "intel", "arm64": "arm"}
BUILD = "import sys; from hatchling import build as b; b.build_sdist(sys.argv[1]); b.build_wheel(sys.argv[1])"


def main(arguments: list[str] | None = None) -> int:
    """Make the release; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--url", default="", help="where the files will be downloaded from; for Homebrew and krew")
    parser.add_argument("--homepage", default="", help="of the project; --url if it is left out")
    parser.add_argument("--single-file", action="store_true", help="make it; takes two minutes, needs PyInstaller")
    parser.add_argument("--dry-run", action="store_true", help="HEAD instead of the tag, Unreleased as its notes")
    args = parser.parse_args(arguments)
    try:
        for name in release(args):
            print(name)
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


class ReleaseError(Exception):
    """A reason why the release cannot be made."""


def release(args: argparse.Namespace) -> list[str]:
    """Make all files, and return their names."""
    out: Path = args.out
    out.mkdir(parents=True, exist_ok=True)
    commit = "HEAD" if args.dry_run else f"v{args.version}"
    epoch = git("log", "-1", "--format=%ct", commit).strip()
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch, "PYTHONHASHSEED": "1", "TZ": "UTC"}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder)
        subprocess.run(["tar", "-x", "-C", folder], input=archived(commit), check=True)
        found = re.findall(r'^__version__ = "(.+)"$', (source / "karptui/__init__.py").read_text(), re.MULTILINE)
        if found != [args.version]:
            raise ReleaseError(f"karptui/__init__.py of {commit} has version {' '.join(found)}, not {args.version}")
        notes = changes((source / "CHANGELOG.md").read_text(encoding="utf-8"), args.version, is_dry=args.dry_run)
        run(environment, source, sys.executable, "-c", BUILD, str(out.resolve()))
        if args.single_file:
            single_file(environment, source, out, args.version, int(epoch))
        (out / "NOTES.md").write_text(notes, encoding="utf-8")
        bill = bill_of_materials(args.version, int(epoch))
        (out / "karptui.cdx.json").write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")
        if args.url:
            for template in ("homebrew.rb", "krew.yaml"):
                manifest(source / "contrib" / template, out, args)
    return checksums(out)


def git(*words: str) -> str:
    result = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode:
        raise ReleaseError(f"git {' '.join(words)}: {result.stderr.strip()}")
    return result.stdout


def archived(commit: str) -> bytes:
    """Return the files of a commit as a tar archive, without tests, which no package has."""
    words = ["git", "archive", commit, "--", ".", ":(exclude)tests"]
    return subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout


def run(environment: dict[str, str], folder: Path, *words: str) -> None:
    result = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if result.returncode:
        raise ReleaseError(f"{' '.join(words[:3])}: {(result.stderr or result.stdout).strip()[-2000:]}")


def changes(text: str, version: str, *, is_dry: bool) -> str:
    """Return the changelog section of a version, without its heading."""
    sections = dict(re.findall(r"^## \[([^\]]+)\][^\n]*\n(.*?)(?=^## \[|\Z)", text, re.MULTILINE | re.DOTALL))
    notes = sections.get(version) or (sections.get("Unreleased") if is_dry else None)
    if not notes:
        raise ReleaseError(f"CHANGELOG.md has no section [{version}]")
    if not is_dry and sections.get("Unreleased", "").strip():
        raise ReleaseError("CHANGELOG.md still has changes under [Unreleased]")
    return notes.strip() + "\n"


def single_file(environment: dict[str, str], source: Path, out: Path, version: str, epoch: int) -> None:
    """Make a single-file program that needs no Python, and an archive of it with licence and man page."""
    (wheel,) = out.glob(f"karptui-{version}-*.whl")
    with zipfile.ZipFile(wheel) as packed_wheel:
        packed_wheel.extractall(source / "site")
    environment = {**environment, "PYTHONPATH": str(source / "site")}
    # Run outside the source folder, to use karptui from the wheel, which has the style sheets.
    (source / "made").mkdir()
    words = ["--log-level", "ERROR", "--distpath", "dist", "--workpath", "work"]
    run(environment, source / "made", sys.executable, "-m", "PyInstaller", *words, str(source / "contrib/karptui.spec"))
    system, machine = platform.system().lower(), ARCHITECTURES[platform.machine().lower()]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path in ("made/dist/karptui", "LICENSE", "docs/man/karptui.1"):
            info = archive.gettarinfo(source / path, Path(path).name)
            info.mtime, info.uid, info.gid, info.uname, info.gname = epoch, 0, 0, "", ""
            with (source / path).open("rb") as file:
                archive.addfile(info, file)
    name = f"karptui-{version}-{system}-{machine}.tar.gz"
    (out / name).write_bytes(gzip.compress(packed.getvalue(), mtime=epoch))


def bill_of_materials(version: str, epoch: int) -> dict[str, Any]:
    """Return the bill of materials: installed packages with licences, in CycloneDX format."""
    packages, ahead = {}, [("karptui", EXTRAS)]
    while ahead:
        name, extras = ahead.pop()
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in packages:
            continue
        try:
            packages[key] = metadata.metadata(name)
        except metadata.PackageNotFoundError:
            continue  # an extra that this environment lacks
        for line in metadata.requires(name) or ():
            needed = Requirement(line)
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
                ahead.append((needed.name, tuple(needed.extras)))
    packages.pop("karptui", None)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, UTC).isoformat(),
            "component": {"type": "application", "name": "karptui", "version": version, "bom-ref": "karptui"},
        },
        "components": [
            {
                "type": "library",
                "name": key,
                "version": found["Version"],
                "bom-ref": f"pkg:pypi/{key}@{found['Version']}",
                "purl": f"pkg:pypi/{key}@{found['Version']}",
                **({"licenses": [{"license": {"name": text}}]} if (text := _licence(found)) else {}),
            }
            for key, found in sorted(packages.items())
        ],
    }


def _licence(found: Any) -> str:
    named = found.get("License-Expression") or (found.get("License") or "").split("\n")[0]
    classified = [line.split(" :: ")[-1] for line in found.get_all("Classifier") or () if line.startswith("License ::")]
    return str(named or ", ".join(classified))


def manifest(template: Path, out: Path, args: argparse.Namespace) -> None:
    """Fill the template of a package manager with the archives in dist, of all platforms."""
    archives = sorted(out.glob(f"karptui-{args.version}-*-*.tar.gz"))
    if not archives:
        raise ReleaseError(f"{out} has no karptui-{args.version}-SYSTEM-MACHINE.tar.gz: --single-file makes one")
    parts = []
    for path in archives:
        system, machine = re.findall(r"-([a-z]+)-([a-z0-9]+)\.tar\.gz$", path.name)[0]
        values = {"os": system, "arch": machine, "url": f"{args.url.rstrip('/')}/{path.name}", "sha256": digest(path)}
        parts.append(PLATFORM[template.suffix](values))
    text = Template(template.read_text(encoding="utf-8")).substitute(
        version=args.version, homepage=args.homepage or args.url, platforms="\n".join(parts)
    )
    (out / {".rb": "karptui.rb", ".yaml": "karp.yaml"}[template.suffix]).write_text(text, encoding="utf-8")


def _krew(values: dict[str, str]) -> str:
    return """\
    - selector:
        matchLabels: {{os: {os}, arch: {arch}}}
      uri: {url}
      sha256: {sha256}
      files:
        - {{from: karptui, to: kubectl-karp}}
        - {{from: LICENSE, to: .}}
      bin: kubectl-karp""".format(**values)


def _brew(values: dict[str, str]) -> str:
    return f"""
  on_{BREW[values["os"]]} do
    on_{BREW[values["arch"]]} do
      url "{values["url"]}"
      sha256 "{values["sha256"]}"
    end
  end
"""


PLATFORM = {".rb": _brew, ".yaml": _krew}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def checksums(out: Path) -> list[str]:
    """Write SHA256SUMS, in the format of sha256sum, and return the names of all files."""
    files = sorted(path for path in out.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    (out / "SHA256SUMS").write_text("".join(f"{digest(path)}  {path.name}\n" for path in files), encoding="utf-8")
    return [*(path.name for path in files), "SHA256SUMS"]


if __name__ == "__main__":
    sys.exit(main())
