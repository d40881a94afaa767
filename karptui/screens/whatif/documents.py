"""The documents of a what-if: opened from objects of the cluster, held to their schemas, completed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

from karptui.karpenter.rules import NEWEST
from karptui.kube.cel_library import why_no_cel
from karptui.screens.whatif.workbook import Workbook
from karptui.sources.source import SourceError
from karptui.whatif.edits import AnyEdit, ObjectRef, PutObject, SetField
from karptui.whatif.scenario import Opening
from karptui.whatif.schema.complete import Completion, complete
from karptui.whatif.schema.offers import KnownValues
from karptui.whatif.schema.schema import Schemas, shipped_schemas
from karptui.whatif.schema.validation import Checked, check_parsed
from karptui.whatif.sheet import Originals, Sheet, joined, with_document
from karptui.whatif.yaml.splice import REMOVE, EditRefusedError, set_value
from karptui.whatif.yaml.tree import Parsed, Problem, ProblemSeverity, parse
from karptui.whatif.yaml.write import as_document

NO_DOCUMENTS: Final = frozenset({"Pod", "Node", "NodeClaim"})
"""Kinds with many objects: their edits are listed, not typed."""


class Cluster(Protocol):
    """The cluster, as the what-if asks about it."""

    def now_ns(self) -> int:
        """Return nanoseconds since the epoch."""

    async def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        """Return an object from the API server; raises SourceError with a message."""

    async def crds(self) -> tuple[dict[str, Any], ...]:
        """Return the CustomResourceDefinitions of Karpenter's kinds; raises SourceError with a message."""


@dataclass
class Made:
    """The result of opening."""

    text: str
    edits: tuple[AnyEdit, ...]
    failed: str = ""
    """Why the first document or edit is missing."""


class DocumentReader:
    """Reads documents for the sheets of a workbook."""

    def __init__(self, objects: Cluster, book: Workbook) -> None:
        self._objects = objects
        self._book = book

    async def add_to(self, sheet: Sheet, opening: Opening) -> Made:
        """Return a sheet's text and edits with the opening's added."""
        opened = Made(sheet.text, sheet.edits)
        for ref in opening.documents:
            await self._add_document(opened, ref)
        for edit in opening.edits:
            await self._add_edit(opened, edit)
        return opened

    async def _add_document(self, opened: Made, ref: ObjectRef) -> bool:
        """Add an object's document to a text unless it is there; return whether it is there then."""
        if parse(opened.text).find(ref) is not None:
            return True
        try:
            opened.text = joined([opened.text, await self.read(ref)])
        except SourceError as error:
            opened.failed = opened.failed or str(error)
            return False
        return True

    async def _add_edit(self, opened: Made, edit: AnyEdit) -> None:
        """Add an edit, as text if its object can be a document: then it is visible and can be changed."""
        if isinstance(edit, PutObject):
            await self.remember(edit.text)
            opened.text = with_document(opened.text, edit.text)
        elif isinstance(edit, SetField) and edit.object.kind not in NO_DOCUMENTS:
            if await self._add_document(opened, edit.object):
                try:
                    value = REMOVE if edit.value is None else edit.value
                    opened.text = set_value(opened.text, edit.object, edit.path, value)
                except EditRefusedError as error:
                    opened.failed = opened.failed or str(error)
        elif edit not in opened.edits:
            opened.edits = (*opened.edits, edit)

    async def read(self, ref: ObjectRef) -> str:
        """Return an object of the cluster as a document, and remember its state.

        Raises:
            SourceError: if it cannot be read.
        """
        raw = await self._objects.fetch_object(ref.kind, ref.key)
        text = as_document(raw)
        for document in parse(text).documents:
            if document.body is not None:
                self._book.originals[document.ref] = document.body
                self._book.opened_texts[document.ref] = text
        return text

    async def remember(self, text: str) -> None:
        """Read the cluster's state of the documents; missing ones are new."""
        for document in parse(text).documents:
            if document.body is not None and document.ref not in self._book.originals:
                with suppress(SourceError):
                    await self.read(document.ref)


class Documents:
    """The documents in the text. Parsing takes longer than a key may, so it is done on demand."""

    def __init__(self, originals: Originals, crds: Callable[[], str] = lambda: NEWEST.crds) -> None:
        self._originals, self._crds = originals, crds
        self._text = ""
        self._parsed: Parsed | None = None
        self._checked: Checked | None = None
        self._held_to: Schemas | None = None
        """The schemas of the last validation."""
        self.known_values = KnownValues()
        """Names and values of the cluster that are offered; none until they have been read."""
        self._schemas: Schemas | None = None

    @property
    def schemas(self) -> Schemas:
        """Schemas of documents: the cluster's own if they could be read."""
        return self._schemas if self._schemas is not None else shipped_schemas(self._crds())

    def use_schemas(self, schemas: Schemas) -> None:
        self._schemas = schemas

    def read(self, text: str) -> None:
        if text != self._text:
            self._text, self._parsed, self._checked = text, None, None

    @property
    def text(self) -> str:
        return self._text

    @property
    def is_taken_apart(self) -> bool:
        return self._checked is not None and self._held_to is self.schemas

    @property
    def _check(self) -> Checked:
        if self._checked is None or not self.is_taken_apart:
            self._held_to = self.schemas
            self._checked = check_parsed(self.parsed, self._held_to, self._originals)
        return self._checked

    @property
    def parsed(self) -> Parsed:
        if self._parsed is None:
            self._parsed = parse(self._text)
        return self._parsed

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self._check.problems

    @property
    def origin(self) -> str:
        """What documents are held against, and how many rules of it cannot be run here."""
        unchecked = len(self._check.unchecked)
        left_out = f", {unchecked} of their rules cannot be checked here" if unchecked else ""
        if why_no_cel():
            left_out = f", without their rules and patterns: {why_no_cel()}"
        return f"{self.schemas.origin}{left_out}"

    @property
    def is_broken(self) -> bool:
        return any(problem.severity is ProblemSeverity.ERROR for problem in self.parsed.problems)

    @property
    def first_broken_line(self) -> int:
        errors = [problem.line for problem in self.parsed.problems if problem.severity is ProblemSeverity.ERROR]
        return min(errors, default=0)

    def complete(self, text: str, line: int, column: int) -> Completion:
        return complete(text, line, column, self.schemas, self.known_values)
