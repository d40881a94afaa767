"""Show the changes in a release of Karpenter: fetch it, compare deciding code, run it, list different answers.

    python tools/follow_release.py VERSION [--since VERSION] [--out FOLDER]
        [--provider VERSION] [--provider-since VERSION]
        [--oracle SOURCES] [--goldens FOLDER ...] [--kwok PROGRAM]

Writes into FOLDER (release-VERSION):
  core.diff, provider.diff       changes of the packages that decide, without tests and documentation
  CHANGED.md                     changed files of both, most changed first, and further changes to check
  oracle                         with --oracle: the given main, built with this version of Karpenter's code
  answers.jsonl, DIFFERS.md      with --goldens: its answer to every golden scenario, and the answers that differ
--kwok also builds a Karpenter of the version with its kwok provider, for tests/e2e/test_live_karpenter.py.

Needs Go and a module proxy. A difference that the model does not describe must be added to it; docs/versions.md
explains the next steps.
"""

from __future__ import annotations

import argparse
import difflib
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

CORE, PROVIDER = "sigs.k8s.io/karpenter", "github.com/aws/karpenter-provider-aws"
DECIDES: Mapping[str, tuple[str, ...]] = {
    CORE: (
        "pkg/apis",
        "pkg/cloudprovider",
        "pkg/controllers/disruption",
        "pkg/controllers/dynamicresources",
        "pkg/controllers/node",
        "pkg/controllers/nodeclaim",
        "pkg/controllers/nodeoverlay",
        "pkg/controllers/pod",
        "pkg/controllers/provisioning",
        "pkg/controllers/state",
        "pkg/controllers/static",
        "pkg/events",
        "pkg/operator/options",
        "pkg/scheduling",
        "pkg/utils",
    ),
    PROVIDER: (
        "pkg/apis",
        "pkg/cache",
        "pkg/cel",
        "pkg/cloudprovider",
        "pkg/controllers/nodeclass",
        "pkg/errors",
        "pkg/operator/options",
        "pkg/providers/amifamily",
        "pkg/providers/capacityreservation",
        "pkg/providers/instance",
        "pkg/providers/instancetype",
        "pkg/providers/pricing",
    ),
}
"""Packages that make decisions, by module."""
BEHIND = 4
"""Runs of a scenario before it counts as different, because Karpenter breaks ties randomly."""
SKIPPED = ("v114.go", "go-1.14.mod", "go-1.14.sum")
"""Files of the oracle that belong to older versions."""
KWOK = Path(__file__).resolve().parent / "kwok"
GOLDENS = Path(__file__).resolve().parent.parent / "tests" / "goldens"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", help="of the core, such as 1.16.0")
    parser.add_argument("--since", default="1.15.0", help="the version that is modelled (1.15.0)")
    parser.add_argument("--provider", default="", help="version of the AWS provider; none is looked at without")
    parser.add_argument("--provider-since", default="1.15.1", help="the one that is modelled (1.15.1)")
    parser.add_argument("--out", type=Path, help="folder that is written (release-VERSION)")
    parser.add_argument("--oracle", type=Path, help="folder with the Go sources of the oracle")
    parser.add_argument("--goldens", type=Path, nargs="*", default=[], help=f"folders with scenarios ({GOLDENS.name})")
    parser.add_argument("--kwok", type=Path, help="build a Karpenter with the kwok provider as this program")
    given = parser.parse_args(arguments)
    out: Path = given.out or Path(f"release-{given.version}")
    out.mkdir(parents=True, exist_ok=True)
    pairs = [(CORE, given.since, given.version, "core")]
    if given.provider:
        pairs.append((PROVIDER, given.provider_since, given.provider, "provider"))
    said = [f"# Karpenter {given.version} against {given.since}", ""]
    for module, before, after, name in pairs:
        said += compare(module, before, after, out / f"{name}.diff")
    (out / "CHANGED.md").write_text("\n".join(said) + "\n")
    print(f"{out / 'CHANGED.md'}: {len(said)} lines")
    if given.kwok:
        build(given.version, kwok_sources(given.version), given.kwok)
    if not given.oracle:
        return 0
    program = out / "oracle"
    files = (path for path in sorted(given.oracle.iterdir()) if path.suffix in (".go", ".mod", ".sum"))
    build(given.version, [path for path in files if path.name not in SKIPPED], program)
    differing = list(asked_again(program, given.goldens or [GOLDENS / "k115"], out / "answers.jsonl"))
    (out / "DIFFERS.md").write_text("".join(f"- {name}: {what}\n" for name, what in differing) or "Nothing differs.\n")
    print(f"{out / 'DIFFERS.md'}: {len(differing)} scenarios are answered otherwise")
    return 1 if differing else 0


def module_folder(module: str, version: str) -> Path:
    """Fetch a module and return its folder."""
    run = subprocess.run(
        ["go", "mod", "download", "-json", f"{module}@v{version}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tempfile.gettempdir(),
        env={**os.environ, "GOTOOLCHAIN": "auto"},
    )
    found = json.loads(run.stdout or "{}")
    if "Dir" not in found:
        sys.exit(f"{module} {version}: {found.get('Error') or run.stderr.strip()}")
    return Path(found["Dir"])


def compare(module: str, before: str, after: str, diff: Path) -> list[str]:
    """Write the diff of the packages that decide; return the changed files, most changed first."""
    old, new = module_folder(module, before), module_folder(module, after)
    counted: list[tuple[int, str]] = []
    with diff.open("w") as stream:
        for name in sorted({*sources(old, DECIDES[module]), *sources(new, DECIDES[module])}):
            lines = [_lines(folder / name) for folder in (old, new)]
            changed = list(difflib.unified_diff(*lines, f"{before}/{name}", f"{after}/{name}"))
            stream.writelines(changed)
            count = sum(1 for line in changed[2:] if line[:1] in "+-")
            if count:
                counted.append((count, name))
    said = [f"## {module} {before} to {after}: {len(counted)} files", ""]
    said += [f"- {name}: {count} lines" for count, name in sorted(counted, reverse=True)]
    others = [name for name in outside(old, new, module) if not name.endswith("_test.go")]
    return [*said, "", f"Elsewhere: {len(others)} files of Go that do not decide, such as {', '.join(others[:8])}", ""]


def sources(folder: Path, packages: Iterable[str]) -> Iterator[str]:
    """Yield the files of packages: code, data and CustomResourceDefinitions, without tests."""
    for package in packages:
        for path in sorted((folder / package).rglob("*")):
            if path.suffix in (".go", ".yaml", ".json") and not _is_test(path):
                yield path.relative_to(folder).as_posix()


def outside(old: Path, new: Path, module: str) -> list[str]:
    """Return the files of other packages that differ."""
    inside = {name for folder in (old, new) for name in sources(folder, DECIDES[module])}
    names = {path.relative_to(folder).as_posix() for folder in (old, new) for path in folder.rglob("*.go")}
    return sorted(
        name for name in names - inside if not _is_test(Path(name)) and _lines(old / name) != _lines(new / name)
    )


def _is_test(path: Path) -> bool:
    return path.name.endswith("_test.go") or path.name.startswith("zz_generated") or "test" in path.parts


def _lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines(keepends=True) if path.is_file() else []


def build(version: str, files: Iterable[Path], program: Path) -> None:
    """Build Go files against a version of the core."""
    toolchain = _needed_go(module_folder(CORE, version))
    environment = {**os.environ, "GOFLAGS": "-buildvcs=false -mod=mod", "CGO_ENABLED": "0", "GOTOOLCHAIN": toolchain}
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            Path(folder, path.name).write_bytes(path.read_bytes())
        flag = f"-s -w -X {CORE}/pkg/operator.Version={version}"
        begin = [] if Path(folder, "go.mod").is_file() else [["go", "mod", "init", "karptui/release"]]
        for command in (
            *begin,
            ["go", "get", f"{CORE}@v{version}"],
            ["go", "build", "-trimpath", "-ldflags", flag, "-o", str(program.resolve()), "."],
        ):
            print(" ".join(command))
            subprocess.run(command, cwd=folder, env=environment, check=True)


def kwok_sources(version: str) -> list[Path]:
    """Return the sources of a Karpenter with its kwok provider; version 1.15 changed how its parts are combined."""
    minor = int(version.split(".")[1])
    return [KWOK / "main.go", KWOK / ("v115.go" if minor >= 15 else "v114.go")]


def _needed_go(folder: Path) -> str:
    match = re.search(r"^go (\S+)$", (folder / "go.mod").read_text(), re.MULTILINE)
    return f"go{match[1]}+auto" if match else "auto"


def asked_again(program: Path, folders: Iterable[Path], answers: Path) -> Iterator[tuple[str, str]]:
    """Run an oracle on every golden scenario; yield the name and the differing parts of each different answer."""
    with answers.open("w") as stream, tempfile.TemporaryDirectory() as folder:
        for path in (path for one in folders for path in sorted(one.rglob("*.jsonl.gz"))):
            with gzip.open(path, "rt") as lines:
                scenarios = [json.loads(line) for line in lines]
            files = {}
            for number, scenario in enumerate(scenarios):
                files[number] = Path(folder, f"{number}.json")
                files[number].write_text(json.dumps(_whole(scenario["snapshot"], path)))
            for number, scenario in enumerate(scenarios):
                known = [_canonical(one) for one in (scenario["expected"], *scenario.get("alternatives", ()))]
                found: dict[str, Any] = {}
                for _ in range(BEHIND):
                    line = subprocess.run([program, files[number]], capture_output=True, text=True, check=True).stdout
                    found = json.loads(line)
                    if _canonical(found) in known:
                        break
                else:
                    name = str(scenario["snapshot"].get("name", f"{path.stem} {number}"))
                    yield name, ", ".join(_parts(scenario["expected"], found))
                stream.write(json.dumps(found) + "\n")


def _whole(snapshot: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return a snapshot; if it names a catalogue in the folder of the goldens, the types are inlined."""
    name = snapshot.get("catalog", "")
    if not name:
        return snapshot
    at = path.parent / name
    packed = at if at.is_file() else at.with_name(f"{at.name}.gz")
    data = packed.read_bytes()
    types = json.loads(gzip.decompress(data) if packed.suffix == ".gz" else data)
    return {**{key: value for key, value in snapshot.items() if key != "catalog"}, "instanceTypes": types}


def _canonical(answer: Mapping[str, Any]) -> str:
    return json.dumps(_sorted({key: value for key, value in answer.items() if key != "name"}), sort_keys=True)


def _sorted(value: Any) -> Any:
    """Return a value with sorted lists, because the order of NodeClaims, commands and events has no meaning."""
    if isinstance(value, dict):
        return {key: _sorted(one) for key, one in value.items()}
    if isinstance(value, list):
        return sorted((_sorted(one) for one in value), key=lambda one: json.dumps(one, sort_keys=True))
    if isinstance(value, str):
        return re.sub(r"hostname-placeholder-\d+(: \d+)?", "hostname-placeholder", value)
    return value


def _parts(expected: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """Return the keys whose values differ between two answers."""
    keys = sorted({*expected, *found} - {"name"})
    return [key for key in keys if _sorted(expected.get(key)) != _sorted(found.get(key))]


if __name__ == "__main__":
    sys.exit(main())
