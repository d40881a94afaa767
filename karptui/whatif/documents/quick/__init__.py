"""Edits without typing YAML."""

from __future__ import annotations

from karptui.whatif.documents.quick.actions import QUICK_ACTIONS, SETTING_EDITS, QuickAction, SettingEdit
from karptui.whatif.documents.quick.item_fields import change_budget
from karptui.whatif.documents.quick.pools import add_daemonset, append_document, own_pool, split_pool
from karptui.whatif.documents.quick.quick_edit import Input, Option, QuickEdit
from karptui.whatif.documents.quick.registry import QUICK_EDITS, quick_edits_for
from karptui.whatif.documents.quick.requirement import set_requirement, toggle_value

__all__ = [
    "QUICK_ACTIONS",
    "QUICK_EDITS",
    "SETTING_EDITS",
    "Input",
    "Option",
    "QuickAction",
    "QuickEdit",
    "SettingEdit",
    "add_daemonset",
    "append_document",
    "change_budget",
    "own_pool",
    "quick_edits_for",
    "set_requirement",
    "split_pool",
    "toggle_value",
]
