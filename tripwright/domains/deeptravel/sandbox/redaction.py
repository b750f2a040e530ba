"""Keeps the keys of this process's environment out of what is stored, shown and logged, whatever a
vendor repeats."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

_NAME = re.compile(
    r"(^|_)(API_?KEY|ACCESS_?KEY|SECRET_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$",
    re.IGNORECASE,
)
FEWEST_CHARACTERS = 8  # a shorter value may be a word of any text
HIDDEN = "***"


class Redaction:
    """Looks for every way in which a secret may be written: as it is, inside JSON, inside a URL."""

    def __init__(self, environment: Mapping[str, str] | None = None):
        variables = (os.environ if environment is None else environment).items()
        values = {value.strip() for name, value in variables if _NAME.search(name)}
        long = [value for value in values if len(value) >= FEWEST_CHARACTERS]
        spellings = {
            form
            for value in long
            for form in (
                value,
                json.dumps(value)[1:-1],
                json.dumps(value, ensure_ascii=False)[1:-1],
            )
        }
        spellings |= {quote(value, safe="") for value in long}
        # a secret may be part of a longer one
        self._written = sorted(spellings, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for secret in self._written:
            text = text.replace(secret, HIDDEN)
        return text

    def within(self, value: Any) -> Any:
        """JSON with its texts redacted; names and numbers stay."""
        if not self._written:
            return value
        if isinstance(value, str):
            return self(value)
        if isinstance(value, Mapping):
            return {name: self.within(entry) for name, entry in value.items()}
        if isinstance(value, list | tuple):
            return [self.within(entry) for entry in value]
        return value
