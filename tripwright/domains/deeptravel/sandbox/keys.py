"""The key under which a live answer is remembered: tool, provider, its version, canonical
arguments, and the day of the snapshot (DeepTravel, section 3.2; row D2)."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Any

from tripwright.errors import UserError, printable

# Arguments of row D1 that a call may leave out. Left out or said, it is the same question.
DEFAULTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "flight_search": {"depart_poi": "", "arrival_poi": ""},
        "train_search": {"is_transfer": 0},
        "hotel_search": {"hotel_name": ""},
    }
)


@dataclass(frozen=True)
class SandboxQuestion:
    """One call as a store knows it. `arguments` is canonical JSON in ASCII, so that every store
    takes whatever a model wrote."""

    tool: str
    provider: str
    version: str
    arguments: str
    snapshot: str  # "2026-06-20", or "" for a call that nobody remembers

    @property
    def key(self) -> str:
        """Equal in every process and on every machine."""
        parts = [self.tool, self.provider, self.version, self.arguments, self.snapshot]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@dataclass(frozen=True)
class StoredAnswer:
    """One remembered answer: what was asked, and `ProviderAnswer.to_json()` as bytes."""

    question: SandboxQuestion
    body: bytes

    def row(self) -> dict[str, Any]:
        return {"key": self.question.key, **vars(self.question), "body": self.body}


def canonical_arguments(
    arguments: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
) -> str:
    """Texts trimmed and in Unicode's NFC, whole numbers without a point, names sorted, unknown
    values (None) and defaults left out."""
    left_out = {name: _canonical(value) for name, value in (defaults or {}).items()}
    canonical = {name: _canonical(value) for name, value in arguments.items()}
    values = {
        name: value
        for name, value in canonical.items()
        if value is not None and not _equal(value, left_out.get(name))
    }
    return json.dumps(values, sort_keys=True, separators=(",", ":"))


def complete_arguments(canonical: str, defaults: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What a provider is asked: it depends on the key alone, not on how the first caller happened
    to write it."""
    return {**(defaults or {}), **json.loads(canonical)}


def checked_day(text: str) -> str:
    """A day of the calendar as "2026-06-20". Raises UserError."""
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
            return date.fromisoformat(text).isoformat()
    except ValueError:
        pass
    raise UserError(
        f"A snapshot is named by its day: found '{printable(text)}', expected one like 2026-06-20."
    )


def _canonical(value: Any) -> Any:
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value).strip()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: _canonical(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(entry) for entry in value]
    return value


def _equal(value: Any, default: Any) -> bool:
    return type(value) is type(default) and value == default  # to Python False is 0
