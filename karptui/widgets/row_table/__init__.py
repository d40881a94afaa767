"""The one table of karptui: rows drawn line by line, as quick with a hundred thousand of them as with ten."""

from __future__ import annotations
