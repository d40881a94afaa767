from __future__ import annotations

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from karptui.widgets.themes import BAR_CONTRAST, OWN_THEMES, TEXT_CONTRAST, contrast, variable_defaults

THEMES = {**BUILTIN_THEMES, **{theme.name: theme for theme in OWN_THEMES}}
TEXT = ("good", "active", "leaving", "warning", "fault", "spot", "reserved", "strong", "key", "muted")


@pytest.mark.parametrize("name", sorted(THEMES))
def test_every_tone_has_enough_contrast_in_every_theme(name: str) -> None:
    theme = THEMES[name]
    colors = variable_defaults(theme)
    if name.startswith("ansi") or name.endswith("ansi"):
        assert all(value.startswith("ansi_") for value in colors.values())
        assert colors["karp-cursor"] not in {colors[f"karp-{name}"] for name in (*TEXT, "daemon", "workload", "free")}
        return
    background = Color.parse(theme.to_color_system().generate()["background"])
    cursor = Color.parse(colors["karp-cursor"])
    for tone in TEXT:
        color = Color.parse(colors[f"karp-{tone}"])
        assert contrast(color, background) >= TEXT_CONTRAST, tone
        assert contrast(color, cursor) >= TEXT_CONTRAST, tone
    for part in ("daemon", "workload"):
        assert contrast(Color.parse(colors[f"karp-{part}"]), background) >= BAR_CONTRAST
    for banner in ("danger", "caution", "calm"):
        ground, text = Color.parse(colors[f"karp-{banner}"]), Color.parse(colors[f"karp-{banner}-text"])
        assert contrast(ground, text) >= BAR_CONTRAST


def test_a_theme_with_one_colour_has_every_variable() -> None:
    bare = variable_defaults(Theme(name="bare", primary="#777777"))
    assert set(bare) == set(variable_defaults(OWN_THEMES[0]))
