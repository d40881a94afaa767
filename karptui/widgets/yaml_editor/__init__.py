"""A YAML editor that shows errors on their lines and completes words."""

from __future__ import annotations

from karptui.widgets.yaml_editor.completions import CompletionItem, CompletionList, Completions
from karptui.widgets.yaml_editor.editor import LineNote, YamlEditor

__all__ = ["CompletionItem", "CompletionList", "Completions", "LineNote", "YamlEditor"]
