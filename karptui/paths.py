"""Where karptui keeps its files, as each system wants it (XDG on Linux)."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import zlib
from pathlib import Path

import platformdirs

_NAME = "karptui"


def config_file() -> Path:
    """Return the configuration file: ``KARPTUI_CONFIG``, or config.toml in the user's configuration folder."""
    chosen = os.environ.get("KARPTUI_CONFIG")
    return typed_path(chosen) if chosen else Path(platformdirs.user_config_path(_NAME)) / "config.toml"


def typed_path(text: str) -> Path:
    """Return a path as typed; ``~name`` of an unknown user is kept, as in a shell."""
    return Path(os.path.expanduser(text))  # noqa: PTH111 - that of Path raises RuntimeError for such a user


def cache_dir() -> Path:
    """Return the cache folder, creating it if possible."""
    folder = platformdirs.user_cache_path(_NAME)
    with contextlib.suppress(OSError):
        _private(folder)
    return folder


def state_dir() -> Path:
    """Return the folder for what should survive a restart, such as the audit log.

    Made when missing, readable by its owner only.

    Raises:
        OSError: when it cannot be made.
    """
    return _private(platformdirs.user_state_path(_NAME))


def history_file(cluster: str, server: str) -> Path:
    """Return the file of a cluster's history; its folder is made when missing, readable by its owner only.

    Args:
        cluster: The context's name, which need not be unique.
        server: The address of its API server.

    Raises:
        OSError: when the folder cannot be made.
    """
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", cluster)[-60:].strip(".-") or "cluster"
    return _private(state_dir() / "history") / f"{name}-{zlib.crc32(f'{cluster} {server}'.encode()):08x}.karptui"


def audit_file() -> Path:
    """Return the file that records actions; its folder is made when missing, readable by its owner only.

    Raises:
        OSError: when the folder cannot be made.
    """
    return state_dir() / "audit.jsonl"


def _private(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def own_command(*words: str) -> list[str]:
    """Return the command line that runs karptui in another process: this Python, or the single file itself."""
    return [sys.executable, *(() if getattr(sys, "frozen", False) else ("-m", "karptui")), *words]
