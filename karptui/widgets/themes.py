"""karptui's themes, the colours of tones in other themes, and the paths of style sheets.

Colours are derived from the chosen theme and checked for contrast. A theme may set any ``karp-…`` variable; the others
are computed from its colours.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.theme import Theme

TEXT_CONTRAST: Final = 4.5
"""WCAG AA for text."""
BAR_CONTRAST: Final = 3.0
"""WCAG AA for graphics."""

_TEXT: Final[Mapping[str, tuple[str, str]]] = {
    "karp-good": ("success", "ansi_green"),
    "karp-active": ("primary", "ansi_cyan"),
    "karp-warning": ("warning", "ansi_yellow"),
    "karp-fault": ("error", "ansi_red"),
    "karp-spot": ("secondary", "ansi_blue"),
    "karp-reserved": ("secondary", "ansi_magenta"),
    "karp-strong": ("foreground", "ansi_default"),
    "karp-key": ("accent", "ansi_cyan"),
}
_BANNERS: Final = {"danger": "error", "caution": "warning", "calm": "primary"}
_ANSI: Final = {
    "karp-leaving": "ansi_magenta",
    "karp-muted": "ansi_bright_black",
    "karp-daemon": "ansi_bright_black",
    "karp-workload": "ansi_blue",
    "karp-free": "ansi_bright_black",
    "karp-cursor": "ansi_bright_black",
    "karp-hover": "ansi_default",
    "karp-marked": "ansi_default",
    "karp-bar": "ansi_default",
    "karp-rule": "ansi_bright_black",
    "karp-danger": "ansi_red",
    "karp-danger-text": "ansi_bright_white",
    "karp-caution": "ansi_yellow",
    "karp-caution-text": "ansi_black",
    "karp-calm": "ansi_blue",
    "karp-calm-text": "ansi_bright_white",
}

_ANSI_DARK: Final = {
    **{name: ansi.replace("ansi_", "ansi_bright_") for name, (_, ansi) in _TEXT.items() if ansi != "ansi_default"},
    "karp-leaving": "ansi_bright_magenta",
    "karp-muted": "ansi_white",
    "karp-daemon": "ansi_white",
    "karp-workload": "ansi_bright_blue",
    "karp-free": "ansi_white",
}
"""Colours that are readable on a dark grey cursor: bright tones, and light grey for muted text."""
_ANSI_LIGHT: Final = {"karp-cursor": "ansi_white"}

COLOR_BLIND_SAFE: Final = Theme(
    name="karptui-colour-blind",
    primary="#56B4E9",
    secondary="#CC79A7",
    accent="#56B4E9",
    warning="#F0E442",
    error="#E69F00",
    success="#0096D6",
    foreground="#E6E6E6",
    background="#101418",
    surface="#161C22",
    panel="#1F2830",
    dark=True,
)
"""Blue, yellow, orange and purple of the Okabe–Ito set: no pair differs only in red and green."""

COLOR_BLIND_SAFE_LIGHT: Final = Theme(
    name="karptui-colour-blind-light",
    primary="#0072B2",
    secondary="#9A4C7D",
    accent="#0072B2",
    warning="#8A6D00",
    error="#B84A00",
    success="#005F94",
    foreground="#1B1F23",
    background="#FFFFFF",
    surface="#F4F6F8",
    panel="#E6EBF0",
    dark=False,
)
"""The same for bright rooms."""

OWN_THEMES: Final = (COLOR_BLIND_SAFE, COLOR_BLIND_SAFE_LIGHT)
DEFAULT_THEME: Final = "textual-dark"
"""Theme if none is chosen."""
SIXTEEN_COLOURS: Final = "ansi-dark"
"""The same where a terminal has 16 colours: in those nearest to other themes a warning is red and a fault grey."""


def variable_defaults(theme: Theme) -> dict[str, str]:
    """Return every ``karp-…`` variable for a theme."""
    system = theme.to_color_system().generate()
    background = Color.parse(system["background"])
    if background.ansi is not None or Color.parse(system["foreground"]).ansi is not None:
        palette = _ANSI_DARK if theme.dark else _ANSI_LIGHT
        return {name: ansi for name, (_, ansi) in _TEXT.items()} | _ANSI | palette
    foreground = Color.parse(system["foreground"])
    surface = Color.parse(system["surface"])
    panel = Color.parse(system["panel"])
    primary = Color.parse(system["primary"])
    cursor = background.blend(primary, 0.24, alpha=1.0)
    grounds = (background, surface, cursor)
    colors = {
        name: readable(Color.parse(system[source]), grounds, TEXT_CONTRAST) for name, (source, _) in _TEXT.items()
    }
    leaving = primary.blend(Color.parse(system["error"]), 0.5, alpha=1.0)
    colors["karp-leaving"] = readable(leaving, grounds, TEXT_CONTRAST)
    colors["karp-muted"] = readable(background.blend(foreground, 0.55, alpha=1.0), grounds, TEXT_CONTRAST)
    colors["karp-daemon"] = readable(background.blend(foreground, 0.5, alpha=1.0), (background, cursor), BAR_CONTRAST)
    colors["karp-workload"] = readable(primary.blend(foreground, 0.25, alpha=1.0), (background, cursor), BAR_CONTRAST)
    colors["karp-free"] = background.blend(foreground, 0.3, alpha=1.0)
    colors["karp-cursor"] = cursor
    colors["karp-hover"] = background.blend(foreground, 0.07, alpha=1.0)
    colors["karp-marked"] = background.blend(Color.parse(system["accent"]), 0.14, alpha=1.0)
    colors["karp-bar"] = panel if panel.a == 1 else background
    colors["karp-rule"] = background.blend(foreground, 0.25, alpha=1.0)
    for name, source in _BANNERS.items():
        banner = Color.parse(system[source])
        colors[f"karp-{name}"] = banner
        colors[f"karp-{name}-text"] = banner.get_contrast_text(1.0)
    return {name: color.hex for name, color in colors.items()}


def readable(color: Color, grounds: tuple[Color, ...], ratio: float) -> Color:
    """Return the colour, moved towards black or white until it has enough contrast to every background.

    Args:
        ratio: Contrast ratio to reach; otherwise the best possible is returned.
    """
    if contrast(color, grounds[0]) >= ratio and all(contrast(color, ground) >= ratio for ground in grounds):
        return color
    target = max((Color(0, 0, 0), Color(255, 255, 255)), key=lambda end: min(contrast(end, g) for g in grounds))
    for step in range(1, 21):
        moved = color.blend(target, step / 20, alpha=1.0)
        if all(contrast(moved, ground) >= ratio for ground in grounds):
            return moved
    return target


def contrast(color: Color, other: Color) -> float:
    """Return the WCAG contrast ratio of two opaque colours, from 1 to 21."""
    light, dark = sorted((_luminance(color), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: Color) -> float:
    red, green, blue = (_linear(part / 255) for part in (color.r, color.g, color.b))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


FIRST = ("tones", "frame")
"""Style sheets that are loaded first."""
_PACKAGE = Path(__file__).resolve().parent.parent


def style_sheets(*names: str) -> list[str | PurePath]:
    """Return the paths of style sheets by name without suffix; of all if no name is given."""
    installed = _PACKAGE / "styles"
    folder = installed if installed.is_dir() else _PACKAGE.parent / "styles"
    stems = names or (*FIRST, *sorted({path.stem for path in folder.glob("*.tcss")} - {*FIRST}))
    return [folder / f"{name}.tcss" for name in stems]


STANDS_OUT: Final = 0.055
"""Smallest brightness difference that must be visible: the cursor's, not a panel's."""


class Colourless(LineFilter):
    """Removes all colours; text marked by its background only is reversed."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        brightness = background.brightness
        return [Segment(text, style and _colourless(style, brightness), control) for text, style, control in segments]


@lru_cache(4_096)
def _colourless(style: Style, brightness: float) -> Style:
    stands_out = (
        style.bgcolor is not None and abs(Color(*style.bgcolor.get_truecolor()).brightness - brightness) > STANDS_OUT
    )
    return Style(
        bold=style.bold,
        dim=style.dim,
        italic=style.italic,
        underline=style.underline,
        strike=style.strike,
        reverse=bool(style.reverse) != stands_out or None,
        meta=style.meta or None,
    )
