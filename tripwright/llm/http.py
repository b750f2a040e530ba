"""What goes wrong when somebody else's interface is asked, and what keeps keys out of whatever is
stored, shown and logged of it, whatever a vendor repeats: the values of variables that are named
like keys, and of all that a services file or an endpoint's settings say a key is in."""

from __future__ import annotations

import json
import os
import re
import time
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, Literal
from urllib.parse import quote, quote_plus

from tripwright import __version__
from tripwright.errors import UserError, printable

NAME_OF_KEY = re.compile(  # of a variable, or of an option in a file
    r"(^|[_-])((api|access|secret)?key|token|secret|passw(or)?d|credential|authorization|bearer)s?$",
    re.IGNORECASE,
)
PLACE_OF_KEY = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")  # of a key in a URL: {MY_KEY}
FEWEST_CHARACTERS = 8  # a shorter value may be a word of any text
SHOWN_CHARACTERS = 200  # of a foreign message
HIDDEN = "***"
_keys_read: set[str] = set()  # in this process, from variables of any name and from files


def key_of(variable: str) -> str:
    """The key in an environment variable, "" where there is none; every Redaction that is made
    later hides it, whatever the variable is called."""
    return hidden(os.environ.get(variable, "").strip())


def hidden(key: str) -> str:
    """The key itself, hidden by every Redaction that is made later."""
    _keys_read.add(key)
    return key


def key_in(variable: str, whose: str) -> str:
    """The same. Raises UserError where `whose` key is not there."""
    if not (key := key_of(variable)):
        raise UserError(f"{whose} needs the environment variable {variable}, which is not set.")
    return key


def named_key(variable: str) -> str:
    """The variable of --api-key-env. Raises UserError where it is not set; the usual ones need not
    be, for servers that want no key."""
    if variable not in ("OPENAI_API_KEY", "ROLLOUT_API_KEY"):
        key_in(variable, "--api-key-env")
    return variable


class Redaction:
    """Looks for every way in which a key is usually written: as it is, inside JSON or a URL, in
    base64 and in hexadecimal digits. It can be hidden from it: backwards, or in two parts."""

    def __init__(self, environment: Mapping[str, str] | None = None):
        variables = (os.environ if environment is None else environment).items()
        values = {value.strip() for name, value in variables if NAME_OF_KEY.search(name)}
        values |= _keys_read if environment is None else set()
        keys = [value for value in values if len(value) >= FEWEST_CHARACTERS]
        # the longest first: a key may be part of a longer one
        self._written = sorted(
            {form for key in keys for form in _forms(key)}, key=len, reverse=True
        )

    def __call__(self, text: str) -> str:
        for form in self._written:
            text = text.replace(form, HIDDEN)
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

    def shown(self, message: object) -> str:
        """One short line of a foreign message: no keys, no control characters."""
        line = printable(self(str(message)))
        return line if len(line) <= SHOWN_CHARACTERS else line[:SHOWN_CHARACTERS] + "…"


def _forms(key: str) -> set[str]:
    raw = key.encode("utf-8", "surrogateescape")
    every_byte = "".join(f"%{byte:02x}" for byte in raw)
    forms = {key, json.dumps(key)[1:-1], json.dumps(key, ensure_ascii=False)[1:-1]}
    # not every writer of URLs escapes the same letters, nor in the same case
    urls = {quote(raw), quote(raw, safe=""), quote_plus(raw)}
    forms |= urls | {re.sub("%..", lambda code: code[0].lower(), url) for url in urls}
    forms |= {every_byte, every_byte.upper(), raw.hex(), raw.hex().upper()}
    for before in range(3):  # bytes in front of it in base64, as in Basic authentication
        text = b64encode(bytes(before) + raw).decode()
        # letters that depend on the key alone; then all, with padding
        whole = text[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]
        forms |= {whole, text.rstrip("="), text} if not before else {whole}
    return forms | {form.replace("+", "-").replace("/", "_") for form in forms}


Usual = Literal["timeout", "connection", "server_error", "rate_limit", "bad_response"]
# and those that vendors alone have, or models
FaultKind = Literal[
    Usual, "unauthorized", "rejected", "context_overflow", "content_filter", "stopped"
]
# of anybody's answer, unpacked: a thousand offers have a few, 32,000 tokens with their
# log-probabilities two
MAX_ANSWER_MB = 16.0
# vendors of open data refuse clients that do not say who they are
USER_AGENT = f"tripwright/{__version__}"


class ProviderFault(Exception):
    """Our side could not answer. `retry_after_s` is what the provider asked to be left alone
    for."""

    def __init__(self, kind: FaultKind, message: str, retry_after_s: float | None = None):
        super().__init__(message)
        self.kind: FaultKind = kind
        self.retry_after_s = retry_after_s


def fault_of_status(status: int) -> FaultKind | None:
    """None for a status that is about the call itself."""
    if status in (401, 402, 403):
        return "unauthorized"
    if status == 429:
        return "rate_limit"
    return "server_error" if status >= 500 or status in (408, 425) else None


def asked_wait_s(headers: Mapping[str, str], limited: bool = True) -> float | None:
    """Seconds that a vendor asks for, less than a day: `Retry-After`, else, of one who says that
    its limit is reached, `ratelimit-reset` (seconds, or a date as Duffel sends): others send that
    with every answer."""
    for name in ("retry-after", "ratelimit-reset") if limited else ("retry-after",):
        seconds = retry_after_s(headers.get(name))
        if seconds is not None and seconds < 86_400:
            return seconds
    return None


def retry_after_s(header: str | None) -> float | None:
    """The `Retry-After` header in seconds: it holds a number or a date."""
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            moment = parsedate_to_datetime(header)
            if moment.tzinfo is None:  # some of its forms do not say that they are in GMT
                moment = moment.replace(tzinfo=UTC)
            seconds = moment.timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return seconds if 0 <= seconds < float("inf") else None
