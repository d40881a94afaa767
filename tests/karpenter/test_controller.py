"""The controller's settings over each other, and what its version means."""

from __future__ import annotations

import pytest

from karptui.karpenter.controller import ControllerInfo, Layer, layered
from karptui.karpenter.settings import SettingsError
from karptui.karpenter.version import MODELLED_VERSION, is_other_minor


def test_the_first_who_names_a_setting_counts() -> None:
    found = layered(
        (
            Layer("the configuration", {"VM_MEMORY_OVERHEAD_PERCENT": "0.03"}),
            Layer("Deployment a/b", {"VM_MEMORY_OVERHEAD_PERCENT": "0.05", "RESERVED_ENIS": "1"}),
        )
    )
    assert (found.settings.vm_memory_overhead_percent, found.settings.reserved_enis) == (0.03, 1)
    assert found.origins == {"VM_MEMORY_OVERHEAD_PERCENT": "the configuration", "RESERVED_ENIS": "Deployment a/b"}


def test_what_karpenter_would_not_start_with() -> None:
    with pytest.raises(SettingsError, match="PREFERENCE_POLICY"):
        layered((Layer("x", {"PREFERENCE_POLICY": "Sometimes"}),))


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        ("", ""),
        (MODELLED_VERSION, ""),
        ("1.13.2", f"Karpenter 1.13.2 runs here, {MODELLED_VERSION} is modelled: its rules may differ"),
        ("1.14.0", f"Karpenter 1.14.0 runs here, {MODELLED_VERSION} is modelled: the same minor version"),
    ],
)
def test_versions(version: str, sentence: str) -> None:
    assert ControllerInfo(title="x", version=version).version_sentence == sentence


@pytest.mark.parametrize(("version", "other"), [("1.14.9", False), ("2.14.1", True), ("latest", False)])
def test_other_minors(version: str, other: bool) -> None:
    assert is_other_minor(version) is other
