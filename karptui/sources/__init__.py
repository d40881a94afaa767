"""Where clusters come from: a live API server, a snapshot, the demo recording. The only place with I/O."""

from __future__ import annotations
