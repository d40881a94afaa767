"""Fixtures of the end-to-end tests: a control plane for the module, or a reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .control_plane import ControlPlane, find_assets

HOW = "set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver (setup-envtest provides one)"


@pytest.fixture(scope="session")
def assets() -> Path:
    """Return the folder with the binaries."""
    try:
        found = find_assets()
    except FileNotFoundError as error:
        pytest.fail(str(error))
    if found is None:
        pytest.skip(f"no kube-apiserver and etcd here: {HOW}")
    return found


@pytest.fixture(scope="module")
def start_plane(assets: Path) -> Iterator[Callable[..., ControlPlane]]:
    """Return a function that starts a control plane with more flags; all are stopped at the end of the module."""
    planes: list[ControlPlane] = []

    def start(*arguments: str) -> ControlPlane:
        planes.append(ControlPlane(assets, *arguments))
        return planes[-1]

    yield start
    for plane in planes:
        plane.stop()


@pytest.fixture(scope="module")
def plane(start_plane: Callable[..., ControlPlane]) -> ControlPlane:
    """Return a control plane shared by the tests of a module."""
    return start_plane()
