"""Fixtures of the end-to-end tests: control planes, or a skip with the reason why none can run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .control_plane import Client, ControlPlane, find_assets
from .definitions import install_definitions

HOW = "set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver (setup-envtest provides one)"


@pytest.fixture(scope="session")
def assets() -> Path:
    try:
        path = find_assets()
    except FileNotFoundError as error:
        pytest.fail(str(error))
    if path is None:
        pytest.skip(f"no kube-apiserver and etcd here: {HOW}")
    return path


@contextmanager
def planes(assets: Path) -> Iterator[Callable[..., ControlPlane]]:
    """Provide a function that starts control planes; all are stopped at the end."""
    started: list[ControlPlane] = []

    def start(*arguments: str) -> ControlPlane:
        started.append(ControlPlane(assets, *arguments))
        return started[-1]

    yield start
    for plane in started:
        plane.stop()


@pytest.fixture(scope="module")
def start_plane(assets: Path) -> Iterator[Callable[..., ControlPlane]]:
    """Return a function that starts a control plane with more flags; a plane lives until its module ends."""
    with planes(assets) as start:
        yield start


@pytest.fixture(scope="session")
def plane(assets: Path) -> Iterator[ControlPlane]:
    """Return a control plane that all modules share: starting one takes seconds."""
    with planes(assets) as start:
        yield start()


@pytest.fixture(scope="session")
def karpenter_plane(assets: Path) -> Iterator[ControlPlane]:
    """Return a control plane with Karpenter's CRDs, shared by all modules."""
    with planes(assets) as start:
        plane = start()
        install_definitions(Client(plane))
        yield plane


@pytest.fixture(scope="module")
def client(karpenter_plane: ControlPlane) -> Client:
    """Return a client of the control plane that has Karpenter's CRDs."""
    return Client(karpenter_plane)
