"""Documents of the cluster for a sheet: read, remembered as they were, and with edits made in them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

from karptui.screens.whatif.workbook import Workbook
from karptui.sources.base import SourceError
from karptui.whatif.edits import AnyEdit, ObjectRef, PutObject, SetField
from karptui.whatif.opening import Opening
from karptui.whatif.sheet import Sheet, joined, with_document
from karptui.whatif.yaml.parse import parse
from karptui.whatif.yaml.splice import REMOVE, EditRefusedError, set_value
from karptui.whatif.yaml.write import as_document

NO_DOCUMENTS: Final = frozenset({"Pod", "Node", "NodeClaim"})
"""Objects of which there are many: edits of them are listed, not typed."""


class Objects(Protocol):
    """Where objects are read from."""

    async def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        """Return an object as the API server has it; raises SourceError with a sentence."""
        ...


@dataclass
class Made:
    """What opening comes to."""

    text: str
    edits: tuple[AnyEdit, ...]
    failed: str = ""
    """Why the first document or edit that cannot be had is missing."""


class DocumentReader:
    """Reads documents for the sheets of a workbook."""

    def __init__(self, objects: Objects, book: Workbook) -> None:
        """Make the reader.

        Args:
            objects: where objects are read from.
            book: that remembers what they were.
        """
        self._objects = objects
        self._book = book

    async def add_to(self, sheet: Sheet, opening: Opening) -> Made:
        """Return a sheet's text and edits with what an opening brings."""
        made = Made(sheet.text, sheet.edits)
        for ref in opening.documents:
            await self._add_document(made, ref)
        for edit in opening.edits:
            await self._add_edit(made, edit)
        return made

    async def _add_document(self, made: Made, ref: ObjectRef) -> bool:
        """Add an object's document to a text unless it is there; return whether it is there then."""
        if parse(made.text).find(ref) is not None:
            return True
        try:
            made.text = joined([made.text, await self.read(ref)])
        except SourceError as error:
            made.failed = made.failed or str(error)
            return False
        return True

    async def _add_edit(self, made: Made, edit: AnyEdit) -> None:
        """Add an edit: as text where its object can be a document, so that it is seen and can be changed."""
        if isinstance(edit, PutObject):
            await self.remember(edit.text)
            made.text = with_document(made.text, edit.text)
        elif isinstance(edit, SetField) and edit.object.kind not in NO_DOCUMENTS:
            if await self._add_document(made, edit.object):
                try:
                    value = REMOVE if edit.value is None else edit.value
                    made.text = set_value(made.text, edit.object, edit.path, value)
                except EditRefusedError as error:
                    made.failed = made.failed or str(error)
        elif edit not in made.edits:
            made.edits = (*made.edits, edit)

    async def read(self, ref: ObjectRef) -> str:
        """Return an object of the cluster as a document, and remember what it was.

        Raises:
            SourceError: when it cannot be read.
        """
        raw = await self._objects.fetch_object(ref.kind, ref.key)
        text = as_document(raw)
        for document in parse(text).documents:
            if document.body is not None:
                self._book.originals[document.ref] = document.body
                self._book.opened_texts[document.ref] = text
        return text

    async def remember(self, text: str) -> None:
        """Read what documents are in the cluster; those that are not there are new."""
        for document in parse(text).documents:
            if document.body is not None and document.ref not in self._book.originals:
                with suppress(SourceError):
                    await self.read(document.ref)
