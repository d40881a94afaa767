"""What one loop remembers of the server's having been away: a server that starts refuses what it will allow."""

from __future__ import annotations

from typing import Final

from karptui.sources.base import SourceError
from karptui.sources.cluster.errors import ApiError

UNREADY: Final = frozenset({403, 404})
"""What a server also answers while it has not read its rules or definitions yet."""
DOUBTED_REFUSALS: Final = 5
"""So many refusals are not believed of a server that has just come back."""


class Outage:
    """From the loss of the server until it answers as before."""

    def __init__(self) -> None:
        self._is_away = False
        self._is_doubtful = False
        self._refusals = 0

    def heard(self) -> None:
        """The server has answered as it should."""
        self._is_away, self._is_doubtful, self._refusals = False, False, 0

    def lost(self, *, was_complete: bool) -> None:
        """The server does not answer; ``was_complete`` is whether it had shown all objects."""
        self._is_away, self._refusals = True, 0
        self._is_doubtful = self._is_doubtful or was_complete

    def refused(self, error: ApiError) -> bool:
        """Count an error answer; return whether it is the first sign of a server that was away."""
        self._refusals += error.status in UNREADY
        is_sign, self._is_away = self._is_away, False
        return is_sign

    def excuses(self, error: SourceError) -> bool:
        """Whether an error may only mean that the server is still starting."""
        is_early = self._is_doubtful and self._refusals <= DOUBTED_REFUSALS
        return is_early and isinstance(error, ApiError) and error.status in UNREADY
