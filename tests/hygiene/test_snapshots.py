from __future__ import annotations

from pathlib import Path

from tests.ui.test_pictures import WALKS

ROOT = Path(__file__).resolve().parent.parent.parent
STATES = {"nodes-forbidden", "nodes-disconnected", "nodes-no-colour"}


def test_every_folder_of_pictures_is_a_screen_that_a_test_draws() -> None:
    screens = {screen for walk in WALKS.values() for screen in walk.screens}
    assert {folder.name for folder in (ROOT / "snapshots").iterdir()} == screens | STATES


def test_the_gallery_shows_every_picture() -> None:
    gallery = (ROOT / "docs/screens.md").read_text(encoding="utf-8")
    pictures = {path.relative_to(ROOT).as_posix() for path in (ROOT / "snapshots").rglob("*.svg")}
    assert {picture for picture in pictures if f"../{picture}" not in gallery} == set()
    assert gallery.count("](../snapshots/") == len(pictures)
