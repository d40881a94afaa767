"""Whether cel-expr-python, which evaluates CEL, is installed: it is optional, as some systems (musl) lack it."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Final

RULES_UNCHECKED: Final = "validation rules and patterns of CustomResourceDefinitions are not checked"


@cache
def why_no_cel() -> str:
    """Return the reason that CEL cannot be evaluated here, or an empty string."""
    if find_spec("cel_expr_python"):
        return ""
    return "cel-expr-python is not installed: install karptui with the extra cel"


def why_rules_unchecked() -> str:
    """Return that the rules of CustomResourceDefinitions are not checked here and why, or an empty string."""
    return f"{RULES_UNCHECKED}: {why_no_cel()}" if why_no_cel() else ""
