"""Settings: the configuration file, then the environment, then flags; the later word counts.

The file is TOML (see ``paths.config_file``). Every setting can also be given as ``KARPTUI_<SETTING>`` in the
environment, as it would be written in the file or, for text, without quotes. Keys that are not known are refused, so
that a typing error never passes for a setting.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from fnmatch import fnmatchcase
from math import isfinite
from pathlib import Path
from typing import Any, Final

import msgspec

from karptui.decode.errors import field_error
from karptui.errors import RequestError, no_such
from karptui.files import read_file
from karptui.karpenter.settings import SettingsError, parse_settings

ENVIRONMENT_PREFIX: Final = "KARPTUI_"
_MOST_BYTES: Final = 1 << 20
"""Of the configuration file."""
_PRODUCTION: Final = ("*prod*", "*prd*", "*live*")


class ConfigError(RequestError):
    """An invalid setting; the text names the file or variable, the key, and the error."""


class Banner(StrEnum):
    """How loudly the top bar names a context."""

    CALM = "calm"
    CAUTION = "caution"
    DANGER = "danger"


class ContextSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for the contexts whose names match a pattern."""

    banner: Banner = Banner.CALM
    label: str = ""
    """A word shown before the context's name, such as PRODUCTION."""
    allow_actions: bool = False
    """Whether objects of the cluster may be changed without ``--allow-actions``."""
    read_only: bool = False
    """Whether actions are refused whatever flags say."""


WORST_FIRST: Final = "held=dsc"
"""Default order of the Nodes screen, if none is configured or remembered."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Every setting, with its default."""

    theme: str = ""
    """Name of a theme, as ``:theme`` lists them; if empty, one that suits the terminal."""
    screen: str = "nodes"
    """Name of the first screen."""
    wide: bool = False
    """Whether tables start with every column."""
    node_sort: str = ""
    """Order of the Nodes screen: a column, ``=``, and ``asc`` or ``dsc``; empty if not configured."""
    extra_labels: tuple[str, ...] = ()
    """Node labels shown as additional columns on the Nodes screen."""
    node_selector: str = ""
    """Label selector (``k=v,k!=v``) the Nodes screen starts with."""
    namespace: str = ""
    """Namespace of the pods to begin with; all when empty."""
    resources: tuple[str, ...] = ()
    """Resources that have a column on the Nodes screen; the usual ones when empty."""
    disable_pricing: bool = False
    """Whether nothing has a price."""
    price_multiplier: float = 1.0
    """What list prices are multiplied with: 0.72 for a discount of 28 %."""
    node_surcharge_per_hour: float = 0.0
    """Cost of every node in addition to its list price, per hour: agents, licences, support."""
    auto_mode_surcharge: float = 0.12
    """What EKS Auto Mode costs on its nodes, as a share of their on-demand list price."""
    aws: bool = True
    """Whether to ask AWS for instance types, offerings and prices if there are credentials."""
    aws_profile: str = ""
    """Profile of the AWS configuration; the default chain when empty."""
    aws_instance_metadata: bool = False
    """Whether credentials may come from the metadata service (IMDS) of the EC2 instance that karptui runs on."""
    karpenter_settings: Mapping[str, str] = {}
    """Karpenter's settings by environment variable, if they differ from its defaults."""
    history: bool = True
    """Whether to record a live cluster's history on this machine while karptui runs."""
    history_days: float = 7.0
    """How many days of history are kept."""
    history_megabytes: float = 1000.0
    """How large the history of one cluster may become."""
    max_action_objects: int = 10
    """How many objects one action may change."""
    keymap: Mapping[str, str] = {}
    """Other keys for actions: the id that the help screen shows, and a comma-separated list of keys."""
    contexts: Mapping[str, ContextSettings] = {}
    """By pattern (``*`` and ``?``), in the order they are tried."""

    def order(self) -> tuple[str, bool]:
        """Return the column the Nodes screen is sorted by, and whether the order is descending."""
        return parse_node_sort(self.node_sort or WORST_FIRST)

    def context(self, name: str) -> ContextSettings:
        """Return the settings of a context.

        Without a matching pattern, names that look like production get the warning banner.
        """
        for pattern, settings in self.contexts.items():
            if fnmatchcase(name, pattern):
                return settings
        is_production = any(fnmatchcase(name.lower(), pattern) for pattern in _PRODUCTION)
        return ContextSettings(Banner.DANGER if is_production else Banner.CALM)


DEFAULTS: Final = Config()


def load_config(path: Path, environment: Mapping[str, str], flags: Mapping[str, object] | None = None) -> Config:
    """Read the settings.

    Args:
        path: The configuration file; a missing one is empty.
        environment: Variables, usually ``os.environ``.
        flags: Settings of the command line; None values were not given.

    Raises:
        ConfigError: a message naming the file, variable or flag, the key, and the error.
    """
    values = _read_file(path)
    _check(values, str(path))
    for name, text in environment.items():
        key = name.removeprefix(ENVIRONMENT_PREFIX).lower()
        if name.startswith(ENVIRONMENT_PREFIX) and key in Config.__struct_fields__:
            value = {key: _from_variable(key, text)}
            _check(value, f"environment variable {name}")
            values |= value
    flag_values = {key: value for key, value in (flags or {}).items() if value is not None}
    _check(flag_values, "command line")
    return _convert(values | flag_values, "command line")


def _read_file(path: Path) -> dict[str, Any]:
    try:
        content = read_file(path, _MOST_BYTES)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    import tomllib  # noqa: PLC0415 - most starts read no file

    try:
        return tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is not TOML: {error}") from error
    except RecursionError:
        raise ConfigError(f"{path}: is nested too deeply") from None


def _check(values: Mapping[str, object], where: str) -> None:
    fields = Config.__struct_fields__
    for key in values:
        if key not in fields:
            raise ConfigError(f"{where}: {no_such('setting', key, fields)}")
    _convert(values, where)


def _convert(values: Mapping[str, object], where: str) -> Config:
    try:
        config = msgspec.convert(dict(values), Config)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {_sentence(error, values)}") from error
    if config.node_sort:
        parse_node_sort(config.node_sort, where)
    for key in (
        "price_multiplier",
        "node_surcharge_per_hour",
        "auto_mode_surcharge",
        "history_days",
        "history_megabytes",
        "max_action_objects",
    ):
        amount = getattr(config, key)
        if not isfinite(amount) or amount < 0:
            raise ConfigError(f"{where}: {key} must be a number from 0 up, not {amount:g}")
    try:
        parse_settings(config.karpenter_settings)
    except SettingsError as error:
        raise ConfigError(f"{where}: karpenter_settings: {error}") from error
    return config


def parse_node_sort(text: str, where: str = "node_sort") -> tuple[str, bool]:
    """Return the column and whether the order is descending, from ``cpu=dsc``.

    Raises:
        ConfigError: when it is written differently.
    """
    column, _, order = text.partition("=")
    if not column or order not in ("", "asc", "dsc", "desc"):
        raise ConfigError(f"{where}: node_sort is a column, = and asc or dsc, such as age=dsc; {text!r} is not")
    return column, order in ("dsc", "desc")


def _from_variable(key: str, text: str) -> object:
    """Read a variable as the file would be read; text needs no quotes, and lists may be plain words with commas."""
    default = getattr(DEFAULTS, key, "")
    if isinstance(default, str):
        return text
    if isinstance(default, bool):
        return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False, "": False}.get(
            text.lower(), text
        )
    if isinstance(default, tuple):
        return [word.strip() for word in text.split(",") if word.strip()]
    import tomllib  # noqa: PLC0415 - as above

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text


def _sentence(error: msgspec.ValidationError, values: Mapping[str, object]) -> str:
    problem = field_error(error, values)
    if "enum" in problem.problem:
        return f"{problem.path}: must be one of {', '.join(Banner)}"
    return str(problem)
