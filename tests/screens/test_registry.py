"""The module of every screen is named after its entry, and no screen has a deep class hierarchy."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

import karptui.screens
from karptui.screens.frame import FrameScreen
from karptui.screens.registry import ENTRIES, ScreenEntry

MOST_ABOVE = 3


def screens() -> list[type[FrameScreen]]:
    modules = pkgutil.walk_packages(karptui.screens.__path__, "karptui.screens.")
    result = {
        item for info in modules for _, item in inspect.getmembers(importlib.import_module(info.name), inspect.isclass)
    }
    return sorted((item for item in result if issubclass(item, FrameScreen)), key=lambda item: item.__qualname__)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_the_module_and_class_of_a_screen_are_named_after_its_entry(entry: ScreenEntry) -> None:
    screen = getattr(importlib.import_module(f"karptui.screens.{entry.name}"), f"{entry.title}Screen")
    assert issubclass(screen, FrameScreen)
    assert screen.entry_name == entry.name


@pytest.mark.parametrize("screen", screens(), ids=lambda screen: screen.__name__)
def test_a_screen_has_at_most_three_karptui_base_classes(screen: type[FrameScreen]) -> None:
    above = [item.__name__ for item in screen.__mro__[1:] if item.__module__.startswith("karptui.")]
    assert len(above) <= MOST_ABOVE, above
