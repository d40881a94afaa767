"""The README's animated picture shows the current app."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from karptui.sources.evidence import EvidenceSource
from tools import make_demo_picture
from tools.make_demo_picture import PICTURE, STEPS, animated, frames

LARGEST_BYTES = 500_000


async def test_the_picture_shows_the_current_app(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(EvidenceSource, "want_usage", lambda _: None)
    drawn = animated(await frames())
    if request.config.getoption("--update-pictures"):
        PICTURE.write_text(drawn, encoding="utf-8")
    assert PICTURE.read_text(encoding="utf-8") == drawn, f"run python {make_demo_picture.__file__} to update it"


def test_one_frame_is_visible_at_a_time_for_eight_seconds() -> None:
    text = PICTURE.read_text(encoding="utf-8")
    assert len(text.encode()) < LARGEST_BYTES
    shown = [
        (float(first), float(last)) for first, last in re.findall(r"([\d.]+)%,([\d.]+)%\{visibility:visible\}", text)
    ]
    assert len(shown) == len(STEPS)
    assert shown[0][0] == 0
    assert [first for first, _ in shown[1:]] == pytest.approx([last for _, last in shown[:-1]], abs=0.02)
    assert shown[-1][1] == pytest.approx(100, abs=0.02)
    assert set(re.findall(r"animation:f\d (\S+) step-end infinite", text)) == {"8s"}


def test_without_animation_only_one_frame_is_visible() -> None:
    groups = ET.fromstring(PICTURE.read_text(encoding="utf-8")).findall("{*}g")
    hidden = set(re.findall(r"^\.(f\d)\{visibility:hidden\}$", PICTURE.read_text(encoding="utf-8"), re.MULTILINE))
    assert {group.attrib["class"] for group in groups} - hidden == {f"f{len(STEPS) - 1}"}
    captions = ["".join(group.findall("{*}text")[-1].itertext()) for group in groups]
    assert [caption.split()[-1] for caption in captions] == [step.caption.split()[-1] for step in STEPS]
