"""Build the programs of a whole cluster and print their folder.

    python -m tests.e2e.servers.build [--karpenter 1.15.0 ...]

etcd, kube-apiserver, kube-scheduler, kube-controller-manager, the kwok controller, and Karpenter with its kwok provider
as ``karpenter-VERSION``. The folder is a cache named after their sources: a second call returns at once.
Needs Go, a module proxy, about 5 GB of disk, and ten minutes on two processors.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.follow_release import KWOK, build, kwok_sources

HERE = Path(__file__).resolve().parent
CONTROL_PLANE, KUBELETS = HERE / "controlplane", HERE / "kwok"
OF_KUBERNETES = ("kube-apiserver", "kube-scheduler", "kube-controller-manager")
PROGRAMS = ("etcd", *OF_KUBERNETES, "kwok")
MODELLED = "1.15.0"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--karpenter", nargs="*", default=[MODELLED], help=f"versions of the core ({MODELLED})")
    given = parser.parse_args(arguments)
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    for name, source, package, flags in _recipes():
        if not (folder / name).exists():
            _compile(folder / name, source, package, flags)
    for version in given.karpenter:
        program = folder / f"karpenter-{version}"
        if not program.exists():
            build(version, kwok_sources(version), program)
    sys.stdout.write(f"{folder}\n")
    return 0


def cache_folder() -> Path:
    """Return the folder of the programs; its name is a hash of their sources."""
    sources = sorted(path for folder in (CONTROL_PLANE, KUBELETS, KWOK) for path in folder.rglob("*") if path.is_file())
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "karptui-cluster" / digest[:12]


def _recipes() -> Iterator[tuple[str, Path, str, str]]:
    """Yield name, folder of the module, package and linker flags of each program."""
    pinned = re.search(
        r"^\tk8s\.io/kubernetes v(\d+)\.(\d+)\.(\d+)$", (CONTROL_PLANE / "go.mod").read_text(), re.MULTILINE
    )
    assert pinned is not None, "the version of Kubernetes is pinned in go.mod"
    major, minor, patch = pinned.groups()
    values = {"gitVersion": f"v{major}.{minor}.{patch}", "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    version = " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in values.items())
    yield "etcd", CONTROL_PLANE, "./cmd/etcd", ""
    for name in OF_KUBERNETES:
        yield name, CONTROL_PLANE, f"./cmd/{name}", version
    yield "kwok", KUBELETS, ".", ""


def _compile(program: Path, source: Path, package: str, flags: str) -> None:
    sys.stderr.write(f"building {program.name}\n")
    unfinished = program.with_suffix(".part")
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false -trimpath -mod=readonly"}
    command = ["go", "build", "-o", str(unfinished), "-ldflags", f"-s -w {flags}", package]
    subprocess.run(command, cwd=source, env=environment, check=True)
    unfinished.rename(program)


if __name__ == "__main__":
    sys.exit(main())
