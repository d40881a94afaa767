"""What documents may say: schemas, validation, rules and completion."""

from __future__ import annotations
