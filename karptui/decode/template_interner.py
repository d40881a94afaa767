"""Equal pod templates as one object, shared by everything that reads pods."""

from __future__ import annotations

import threading
from hashlib import sha256
from typing import Final
from weakref import WeakValueDictionary, ref

import msgspec

from karptui.decode.pod_template import TemplateParts, build_template
from karptui.kube.pod import PodTemplate

_ENCODER: Final = msgspec.msgpack.Encoder(order="deterministic", enc_hook=dict)
"""What it does not know is the read-only view that stands for an empty mapping."""
_AMOUNTS: Final = tuple(PodTemplate.__struct_fields__.index(name) for name in ("requests", "limits"))


class TemplateInterner:
    """Gives equal parts the same template object, for as long as a pod holds it; safe to call from several threads."""

    def __init__(self) -> None:
        self.by_text: dict[int, ref[PodTemplate]] = {}
        """Templates by the digest of the text they were read from; several texts may come to one template."""
        self._by_value: WeakValueDictionary[bytes, PodTemplate] = WeakValueDictionary()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._by_value)

    def of_text(self, digest: int) -> PodTemplate | None:
        """Return the template that was read from a text with this digest, None where none is left."""
        # WeakValueDictionary.get does the same in three times the time, which counts for every pod.
        found = self.by_text.get(digest)
        return None if found is None else found()

    def keep_text(self, digest: int, template: PodTemplate) -> None:
        """Remember what a text came to, for as long as the template lives."""
        by_text = self.by_text
        by_text[digest] = ref(template, lambda gone: _forget(by_text, digest, gone))

    def template_of(self, parts: TemplateParts) -> PodTemplate:
        """Return the template of these parts, the one that is there already where one is equal in effect.

        Raises:
            FieldError: when a field cannot be read.
        """
        template = build_template(parts)
        key = _digest(template)
        with self._lock:
            present = self._by_value.get(key)
            if present is None:
                self._by_value[key] = template
                return template
            return present


def _forget(by_text: dict[int, ref[PodTemplate]], digest: int, gone: ref[PodTemplate]) -> None:
    if by_text.get(digest) is gone:
        del by_text[digest]


TEMPLATES: Final = TemplateInterner()
"""Shared by everything that reads pods."""


def _digest(template: PodTemplate) -> bytes:
    values = list(msgspec.structs.astuple(template))
    for position in _AMOUNTS:
        # Nano-units of a few gibibytes are past what the encoding's integers hold.
        values[position] = [
            (name, str(amount.nano), amount.format) for name, amount in sorted(values[position].items())
        ]
    return sha256(_ENCODER.encode(values)).digest()
