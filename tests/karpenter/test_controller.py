from __future__ import annotations

import pytest

from karptui.karpenter.controller import (
    MODELLED_VERSION,
    ControllerInfo,
    Layer,
    chart_version,
    image_version,
    layered,
    parse_version,
)


@pytest.mark.parametrize(("text", "version"), [
    ("1.14.1", "1.14.1"),
    ("v1.14.1", "1.14.1"),
    (" 1.9.0 ", "1.9.0"),
    ("1.6.0-rc.1", "1.6.0-rc.1"),
    ("0.0.0-0b21a3f+dirty", "0.0.0-0b21a3f+dirty"),
    ("unspecified", ""),
    ("latest", ""),
    ("1.14", ""),
    ("", ""),
])  # fmt: skip
def test_parse_version(text: str, version: str) -> None:
    assert parse_version(text) == version


@pytest.mark.parametrize(("image", "version"), [
    ("public.ecr.aws/karpenter/controller:1.14.1@sha256:ea731b0c", "1.14.1"),
    ("public.ecr.aws/karpenter/controller:v0.37.0", "0.37.0"),
    ("registry.local:5000/karpenter/controller:1.2.3", "1.2.3"),
    ("registry.local:5000/karpenter/controller", ""),
    ("public.ecr.aws/karpenter/controller@sha256:ea731b0c", ""),
    ("controller:latest", ""),
    ("", ""),
])  # fmt: skip
def test_image_version(image: str, version: str) -> None:
    assert image_version(image) == version


@pytest.mark.parametrize(("label", "version"), [
    ("karpenter-1.14.1", "1.14.1"),
    ("karpenter-1.14.1_g1a2b", "1.14.1+g1a2b"),
    ("my-karpenter-1.0.0", "1.0.0"),
    ("x", ""),
])  # fmt: skip
def test_chart_version(label: str, version: str) -> None:
    assert chart_version(label) == version


def test_the_first_layer_with_a_setting_wins() -> None:
    settings = layered(
        (
            Layer("the configuration", {"VM_MEMORY_OVERHEAD_PERCENT": "0.03"}),
            Layer("Deployment a/b", {"VM_MEMORY_OVERHEAD_PERCENT": "0.05", "RESERVED_ENIS": "1"}),
        )
    )
    assert (settings.settings.vm_memory_overhead_percent, settings.settings.reserved_enis) == (0.03, 1)
    assert settings.origins == {"VM_MEMORY_OVERHEAD_PERCENT": "the configuration", "RESERVED_ENIS": "Deployment a/b"}


@pytest.mark.parametrize(("version", "sentence"), [
    ("", ""),
    (MODELLED_VERSION, ""),
    ("1.13.2", "Karpenter 1.13.2 is not modelled: the nearest, 1.14.1, is used"),
    ("1.14.0", ""),
])  # fmt: skip
def test_note_about_versions_that_are_not_modelled(version: str, sentence: str) -> None:
    assert ControllerInfo(title="x", version=version).version_sentence == sentence
