"""URLs: whether a server can be there, and how one may be written down (a user and a password in it
are nobody else's to read)."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

# by the text alone: what is no URL is shown too, in the message that refuses it
_USER = re.compile(r"^((?:[^/?#@]*://)?)[^/?#]*@")


def shown_url(url: str) -> str:
    """`url` without "user:password@", for messages and run cards."""
    return _USER.sub(r"\1", url)


def is_address(base_url: str) -> bool:
    """Whether a server can be there at all: what cannot exist is not waited for."""
    try:
        parts = urlsplit(base_url)
        # reading the port checks its range
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
