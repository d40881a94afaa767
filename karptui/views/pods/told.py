"""Columns of the Pods screen in words, for where they have no room: those that the sentence does not tell anyway."""

from __future__ import annotations

from typing import Final

from karptui.kube.units import age_text, counted
from karptui.session.pods import PodEntry
from karptui.views.row import NOT_AVAILABLE, Cell, Tone
from karptui.views.sanitize import clean
from karptui.views.unseen import NOTHING, Told, cell_words


def _owner(entry: PodEntry, _: int) -> tuple[str, Tone]:
    return (f"owned by {clean(entry.owner)}", Tone.NORMAL) if entry.owner else NOTHING


def _accelerators(entry: PodEntry, _: int) -> tuple[str, Tone]:
    count = entry.accelerators
    return (f"asks {counted(count, 'GPU')}", Tone.NORMAL) if count else NOTHING


def _priority(entry: PodEntry, _: int) -> tuple[str, Tone]:
    priority = entry.pod.template.priority
    return (f"priority {priority}", Tone.NORMAL) if priority else NOTHING


def _age(entry: PodEntry, now_ns: int) -> tuple[str, Tone]:
    created_ns = entry.pod.created_ns
    return cell_words(Cell(age_text(created_ns, now_ns)) if created_ns else NOT_AVAILABLE, "age ")


TOLD: Final[tuple[Told[PodEntry], ...]] = (
    Told("owner", _owner),
    Told("gpu", _accelerators),
    Told("priority", _priority),
    Told("age", _age),
)
"""The most important first."""
