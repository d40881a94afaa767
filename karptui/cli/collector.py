"""The garbage collector of a command that reads a cluster, answers and ends."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Keep the collector from walking a cluster again and again while it is read, and after that.

    What there is at the end counts as here to stay, until another cluster is read; what is made later is collected as
    usual.
    """
    gc.unfreeze()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
