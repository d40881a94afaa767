"""Facts and prices from the AWS APIs."""

from __future__ import annotations
