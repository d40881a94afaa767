"""A cluster that needs no cluster: a recording that shows every story karptui tells, and goes on from there."""

from __future__ import annotations
