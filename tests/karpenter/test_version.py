from __future__ import annotations

import pytest

from karptui.karpenter.version import chart_version, image_version, parse_version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("1.14.1", "1.14.1"),
        ("v1.14.1", "1.14.1"),
        (" 1.9.0 ", "1.9.0"),
        ("1.6.0-rc.1", "1.6.0-rc.1"),
        ("0.0.0-0b21a3f+dirty", "0.0.0-0b21a3f+dirty"),
        ("unspecified", ""),
        ("latest", ""),
        ("1.14", ""),
        ("", ""),
    ],
)
def test_parse_version(text: str, version: str) -> None:
    assert parse_version(text) == version


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("public.ecr.aws/karpenter/controller:1.14.1@sha256:ea731b0c", "1.14.1"),
        ("public.ecr.aws/karpenter/controller:v0.37.0", "0.37.0"),
        ("registry.local:5000/karpenter/controller:1.2.3", "1.2.3"),
        ("registry.local:5000/karpenter/controller", ""),
        ("public.ecr.aws/karpenter/controller@sha256:ea731b0c", ""),
        ("controller:latest", ""),
        ("", ""),
    ],
)
def test_image_version(image: str, version: str) -> None:
    assert image_version(image) == version


@pytest.mark.parametrize(
    ("label", "version"),
    [
        ("karpenter-1.14.1", "1.14.1"),
        ("karpenter-1.14.1_g1a2b", "1.14.1+g1a2b"),
        ("my-karpenter-1.0.0", "1.0.0"),
        ("x", ""),
    ],
)
def test_chart_version(label: str, version: str) -> None:
    assert chart_version(label) == version
