"""Which Karpenter runs: from the image of its pods, its labels, its own word."""

from __future__ import annotations

import re
from typing import Final

import msgspec

MODELLED_VERSION: Final = "1.14.1"
"""The version of Karpenter that the engine is compared with."""
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")


class KarpenterVersion(msgspec.Struct, frozen=True):
    """A version of Karpenter and how it is known."""

    version: str
    """Without a leading ``v``: ``1.14.1``."""
    source: str
    """In words: ``image of pod karpenter/karpenter-6f9-abcde``."""


def parse_version(text: str) -> str:
    """Return a semantic version without its ``v``, empty where the text is none, such as ``latest`` or a commit."""
    match = _VERSION.fullmatch(text.strip())
    return match[0].removeprefix("v") if match is not None else ""


def image_version(image: str) -> str:
    """Return the version in the tag of a container image, empty where there is none: a digest alone, ``latest``."""
    name, _, _ = image.partition("@")
    _, colon, tag = name.rpartition("/")[2].rpartition(":")
    return parse_version(tag) if colon else ""


def chart_version(label: str) -> str:
    """Return the version in a ``helm.sh/chart`` label (``karpenter-1.14.1``), empty where there is none."""
    return parse_version(label.replace("_", "+").rpartition("karpenter-")[2])


def is_other_minor(found: str) -> bool:
    """Return whether a version is known and of another minor than the one that is modelled."""
    match = _VERSION.fullmatch(found)
    modelled = _VERSION.fullmatch(MODELLED_VERSION)
    return match is not None and modelled is not None and match.group(1, 2) != modelled.group(1, 2)
