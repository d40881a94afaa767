"""Where the style sheets are: inside the installed package, or beside it in a checkout."""

from __future__ import annotations

from pathlib import Path, PurePath

FIRST = ("tones", "frame")
"""Style sheets that the others stand on."""
_PACKAGE = Path(__file__).resolve().parent.parent


def styles_dir() -> Path:
    """Return the folder of the style sheets."""
    installed = _PACKAGE / "styles"
    return installed if installed.is_dir() else _PACKAGE.parent / "styles"


def style_sheets(*names: str) -> list[str | PurePath]:
    """Return the paths of style sheets by name, without their suffix; of all where none is named."""
    folder = styles_dir()
    found = names or (*FIRST, *sorted({path.stem for path in folder.glob("*.tcss")} - {*FIRST}))
    return [folder / f"{name}.tcss" for name in found]
