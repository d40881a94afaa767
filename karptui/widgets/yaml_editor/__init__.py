"""A YAML editor that shows errors on their lines and completes words."""

from __future__ import annotations

from karptui.widgets.yaml_editor.editor import CompletionItem, CompletionList, Completions, LineNote, YamlEditor

__all__ = ["CompletionItem", "CompletionList", "Completions", "LineNote", "YamlEditor"]
