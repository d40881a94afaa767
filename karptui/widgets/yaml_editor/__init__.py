"""An editor for YAML that says what is wrong on the line itself and completes what is typed."""

from __future__ import annotations

from karptui.widgets.yaml_editor.completions import CompletionItem, CompletionList, Completions
from karptui.widgets.yaml_editor.editor import LineNote, YamlEditor

__all__ = ["CompletionItem", "CompletionList", "Completions", "LineNote", "YamlEditor"]
