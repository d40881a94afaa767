"""Where workers are: on this machine, or wherever a Dask scheduler has them."""

from __future__ import annotations

from typing import Final

from karptui.workers.workers import Workers, WorkersError

MOST_PROCESSES: Final = 256
FAR: Final = ("tcp://", "tls://")
"""How the address of a Dask scheduler begins."""


def workers_at(text: str) -> Workers:
    """Return the workers for the user's text: a number of local processes, or a Dask scheduler's address.

    Raises:
        WorkersError: if it is neither, or no scheduler answers.
    """
    if text.startswith(FAR):
        from karptui.workers.far import FarWorkers  # noqa: PLC0415 - Dask is imported only when asked for

        return FarWorkers(text)
    if not text.isdecimal() or not 1 <= int(text) <= MOST_PROCESSES:
        raise WorkersError(f"{text!r} is neither a number of processes nor the address of a Dask scheduler (tcp://…)")
    from karptui.workers.near import NearWorkers  # noqa: PLC0415 - multiprocessing is imported only when asked for

    return NearWorkers(int(text))
