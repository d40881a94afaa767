from __future__ import annotations

from pathlib import Path

import pytest

from karptui.config import Banner, Config, ConfigError, ContextSettings, load_config, parse_node_sort


def load(tmp_path: Path, text: str = "", environment: dict[str, str] | None = None, **flags: object) -> Config:
    path = tmp_path / "config.toml"
    path.write_text(text)
    return load_config(path, environment or {}, flags)


def test_a_missing_file_is_empty(tmp_path: Path) -> None:
    assert load_config(tmp_path / "none.toml", {}) == Config()


def test_the_later_word_counts(tmp_path: Path) -> None:
    text = 'theme = "nord"\nwide = true\nscreen = "pods"'
    environment = {"KARPTUI_THEME": "gruvbox", "KARPTUI_WIDE": "no", "HOME": "/x", "KARPTUI_SERVICE_HOST": "not ours"}
    config = load(tmp_path, text, environment, theme="dracula", screen=None)
    assert (config.theme, config.wide, config.screen) == ("dracula", False, "pods")


def test_variables_take_lists_and_tables(tmp_path: Path) -> None:
    environment = {
        "KARPTUI_EXTRA_LABELS": "team, tier",
        "KARPTUI_CONTEXTS": '{"p-*" = {banner = "danger", label = "PROD"}}',
    }
    config = load(tmp_path, "", environment)
    assert config.extra_labels == ("team", "tier")
    assert config.context("p-1") == ContextSettings(Banner.DANGER, "PROD")


def test_contexts_are_tried_in_order_and_production_is_loud_by_default(tmp_path: Path) -> None:
    config = load(
        tmp_path, '[contexts."prod-lab"]\nbanner = "caution"\n[contexts."prod-*"]\nlabel = "LIVE"\nbanner="danger"'
    )
    assert config.context("prod-lab").banner is Banner.CAUTION
    assert config.context("prod-eu").label == "LIVE"
    assert config.context("MyPRDcluster").banner is Banner.DANGER
    assert config.context("kind-dev").banner is Banner.CALM


@pytest.mark.parametrize(
    ("text", "environment", "flags", "result"),
    [
        ("tehme = 1", {}, {}, "config.toml: there is no setting tehme; did you mean theme?"),
        ("zzz = 1", {}, {}, "config.toml: there is no setting zzz; there are theme, screen"),
        ("theme = 1", {}, {}, "config.toml: theme: must be text, is a number: write it in quotes"),
        ("theme = ", {}, {}, "config.toml: is not TOML"),
        ('[contexts."x"]\ncolour = "red"', {}, {}, "config.toml: contexts.x.colour: there is no such field"),
        ('[contexts."x"]\nbanner = "red"', {}, {}, "contexts.x.banner: must be one of calm, caution, danger"),
        ('node_sort = "age=up"', {}, {}, "config.toml: node_sort is a column, = and asc or dsc"),
        ("", {"KARPTUI_WIDE": "maybe"}, {}, "environment variable KARPTUI_WIDE: wide: must be true or false, is text"),
        ("", {"KARPTUI_KEYMAP": "{"}, {}, "environment variable KARPTUI_KEYMAP: keymap: must be an object, is text"),
        ("", {}, {"wide": 3}, "command line: wide: must be true or false, is a number"),
    ],
)
def test_errors_name_the_place_and_the_key(
    tmp_path: Path, text: str, environment: dict[str, str], flags: dict[str, object], result: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text, environment, **flags)
    assert result in str(caught.value)


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path, {})
    path = tmp_path / "latin.toml"
    path.write_bytes(b'theme = "\xff"')
    with pytest.raises(ConfigError, match=r"latin\.toml: is not TOML"):
        load_config(path, {})


def test_files_without_an_end_or_a_bottom_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"/dev/zero: cannot be read: it is no regular file$"):
        load_config(Path("/dev/zero"), {})
    large = tmp_path / "large.toml"
    with large.open("wb") as file:
        file.truncate((1 << 20) + 1)
    with pytest.raises(ConfigError, match=r"large.toml: cannot be read: it is larger than 1 MiB$"):
        load_config(large, {})
    path = tmp_path / "deep.toml"
    path.write_text(f"theme = {'[' * 5000}")
    with pytest.raises(ConfigError, match=r"deep\.toml: is nested too deeply"):
        load_config(path, {})
    with pytest.raises(ConfigError, match="KARPTUI_PRICE_MULTIPLIER"):
        load_config(tmp_path / "none.toml", {"KARPTUI_PRICE_MULTIPLIER": "[" * 5000})


def test_node_sort() -> None:
    assert parse_node_sort("cpu=dsc") == ("cpu", True)
    assert parse_node_sort("age") == ("age", False)
