"""The text taken apart, held against schemas, and what could be typed in it."""

from __future__ import annotations

from collections.abc import Callable

from karptui.karpenter.rules import NEWEST
from karptui.whatif.schema.complete import Completion, complete
from karptui.whatif.schema.offers import KnownValues
from karptui.whatif.schema.schema import Schemas, shipped_schemas
from karptui.whatif.schema.validate import Checked, check_parsed
from karptui.whatif.sheet import Originals
from karptui.whatif.yaml.parse import Parsed, parse
from karptui.whatif.yaml.tree import Problem, ProblemSeverity


class Documents:
    """What the text says. It is taken apart when somebody wants to know, as that takes longer than a letter may."""

    def __init__(self, originals: Originals, crds: Callable[[], str] = lambda: NEWEST.crds) -> None:
        """Begin with nothing.

        Args:
            originals: objects of the cluster, which rules about changes are held against.
            crds: tells the release of Karpenter whose shipped schemas count (``Rules.crds``).
        """
        self._originals, self._crds = originals, crds
        self._text = ""
        self._parsed: Parsed | None = None
        self._checked: Checked | None = None
        self._held_to: Schemas | None = None
        """What that was held against."""
        self.known_values = KnownValues()
        """Names and values of the cluster that are offered; none until they have been read."""
        self._schemas: Schemas | None = None

    @property
    def schemas(self) -> Schemas:
        """What documents are held against: the cluster's own where they could be read."""
        return self._schemas if self._schemas is not None else shipped_schemas(self._crds())

    def use_schemas(self, schemas: Schemas) -> None:
        """Hold documents against other schemas from now on."""
        self._schemas = schemas

    def read(self, text: str) -> None:
        """Take over a text."""
        if text != self._text:
            self._text, self._parsed, self._checked = text, None, None

    @property
    def text(self) -> str:
        """The text that was taken over last."""
        return self._text

    @property
    def is_taken_apart(self) -> bool:
        """Whether what the text says is known already."""
        return self._checked is not None and self._held_to is self.schemas

    @property
    def _known(self) -> Checked:
        if self._checked is None or not self.is_taken_apart:
            self._held_to = self.schemas
            self._checked = check_parsed(self.parsed, self._held_to, self._originals)
        return self._checked

    @property
    def parsed(self) -> Parsed:
        """The text as documents, which is known sooner than what is wrong with them."""
        if self._parsed is None:
            self._parsed = parse(self._text)
        return self._parsed

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What YAML and schemas object to, by line."""
        return self._known.problems

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Rules of the schemas that karptui cannot run, in words."""
        return self._known.unchecked

    @property
    def origin(self) -> str:
        """What documents are held against, and how many rules of it cannot be run here."""
        left_out = f", {len(self.unchecked)} of their rules cannot be run here" if self.unchecked else ""
        return f"{self.schemas.origin}{left_out}"

    @property
    def is_broken(self) -> bool:
        """Whether a document cannot be read at all."""
        return any(problem.severity is ProblemSeverity.ERROR for problem in self.parsed.problems)

    @property
    def first_broken_line(self) -> int:
        """Where the first of those is."""
        errors = [one.line for one in self.parsed.problems if one.severity is ProblemSeverity.ERROR]
        return min(errors, default=0)

    def complete(self, text: str, line: int, column: int) -> Completion:
        """Return what could be typed at a place."""
        return complete(text, line, column, self.schemas, self.known_values)
