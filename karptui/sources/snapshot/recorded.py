"""What a recording says beside its objects: when and where it was taken, with which settings and instance types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.settings import Settings, SettingsError, parse_settings
from karptui.kube.timestamps import ABSENT_NS, parse_timestamp
from karptui.sources.snapshot.documents import Document
from karptui.sources.snapshot.errors import SnapshotError, sentence
from karptui.sources.snapshot.instance_types import Catalogs
from karptui.sources.snapshot.manifests import MARK, manifests
from karptui.sources.snapshot.objects import ObjectPile

FORMAT: Final = 1
"""The version of the recording format that is written; higher ones are refused."""


class Recorded:
    """A document as ``karptui record`` writes it; what it does not say is at its default."""

    def __init__(self, document: Document, catalogs: Catalogs) -> None:
        """Read everything but the objects.

        Raises:
            SnapshotError: a sentence naming the file and the field.
        """
        self.where = document.where
        self._value: dict[str, Any] = document.value
        self._check_version()
        self.name: str = self._field("name", str, "")
        self.wants_disruption: bool = self._field("disruption", bool, default=False)
        self.captured_ns = self._captured_ns()
        self.settings = self._settings()
        self.karpenter_version: str = self._field("karpenterVersion", str, "")
        self.instance_types = self._instance_types(document, catalogs)

    def add_objects(self, pile: ObjectPile) -> None:
        """Add the objects to those that are there already.

        Raises:
            SnapshotError: a sentence naming the file and the field.
        """
        objects = self._field("objects", list, [])
        for index, value in enumerate(objects):
            for manifest in manifests(value, f"objects[{index}]"):
                pile.add(manifest, self.where, has_defaults=True)

    def _field(self, name: str, type_: type[Any], default: Any) -> Any:
        value = self._value.get(name)
        if value is None:
            return default
        if not isinstance(value, type_):
            raise self._wrong(
                name, f"must be {_JSON_NAMES[type_]}, is {_JSON_NAMES.get(type(value), 'something else')}"
            )
        return value

    def _wrong(self, field: str, problem: object) -> SnapshotError:
        return SnapshotError(sentence(self.where, f"{field}: {problem}"))

    def _check_version(self) -> None:
        version = self._value[MARK]
        if isinstance(version, int) and version > FORMAT:
            raise self._wrong(
                MARK, f"the recording has format {version}, this karptui reads up to {FORMAT}; a newer one is needed"
            )
        if version != FORMAT or isinstance(version, bool):
            raise self._wrong(MARK, f"must be {FORMAT}")

    def _captured_ns(self) -> int:
        text = self._field("capturedAt", str, "")
        try:
            return parse_timestamp(text) if text else ABSENT_NS
        except ValueError as error:
            raise self._wrong("capturedAt", error) from None

    def _settings(self) -> Settings:
        values = self._field("settings", dict, {})
        environment = {}
        for name, value in values.items():
            if isinstance(value, dict | list) or value is None:
                raise self._wrong(f"settings.{name}", "must be text")
            environment[name] = str(value).lower() if isinstance(value, bool) else str(value)
        try:
            return parse_settings(environment)
        except SettingsError as error:
            raise self._wrong("settings", error) from None

    def _instance_types(self, document: Document, catalogs: Catalogs) -> tuple[InstanceType, ...] | None:
        types = self._field("instanceTypes", list, None)
        if types is not None:
            return catalogs.of_value(types, self.where)
        catalog = self._field("catalog", str, "")
        if not catalog:
            return None
        try:
            return catalogs.of_file(catalog, document.folder)
        except SnapshotError as error:
            raise SnapshotError(sentence(self.where, error)) from None


_JSON_NAMES: Final[Mapping[type[Any], str]] = {
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}
