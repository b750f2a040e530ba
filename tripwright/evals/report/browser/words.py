"""Token ids as words, for the token view: read from the tokenizer.json of a model folder, without
the library that made it.

Only looking words up is needed here, never encoding (law 5), so that a report needs no extra. What
comes out is compared with the segment's stored text: words of another tokenizer are not shown.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

TOKENIZER_FILE = "tokenizer.json"


class TokenWords:
    """The vocabulary of one tokenizer: byte-level (GPT-2, Qwen, Llama 3) or with '▁' for blanks and
    bytes as '<0x0A>' (SentencePiece)."""

    def __init__(self, record: dict[str, Any]):
        """Raises KeyError, TypeError, AttributeError or ValueError for what is no tokenizer."""
        vocabulary = record["model"]["vocab"]
        pairs = (
            vocabulary.items()
            if isinstance(vocabulary, dict)
            else ((token, i) for i, (token, _) in enumerate(vocabulary))
        )
        piece = (
            _byte_level(_byte_table())
            if "ByteLevel" in json.dumps(record.get("decoder"))
            else _sentence_piece
        )
        self._bytes: dict[int, bytes] = {int(number): piece(token) for token, number in pairs}
        self._special: set[int] = set()
        for added in record.get("added_tokens") or ():
            self._bytes[int(added["id"])] = str(added["content"]).encode()
            if added.get("special"):
                self._special.add(int(added["id"]))

    @classmethod
    def read(cls, folder: Path) -> TokenWords | None:
        """None where the folder holds no tokenizer that can be read."""
        try:
            return cls(json.loads((folder / TOKENIZER_FILE).read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def of(self, token_ids: Sequence[int], text: str) -> list[str] | None:
        """One word per token; a character that several tokens make stands at the last of them. None
        where the words do not make `text` (special tokens and blanks around it aside)."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        words = []
        for i, token_id in enumerate(token_ids):
            raw = self._bytes.get(token_id)
            if raw is None:
                return None
            words.append(decoder.decode(raw, final=i == len(token_ids) - 1))
        plain = "".join(
            word
            for token_id, word in zip(token_ids, words, strict=True)
            if token_id not in self._special
        )
        return words if text.strip() in (plain.strip(), "".join(words).strip()) else None


def _byte_level(table: dict[str, int]) -> Callable[[str], bytes]:
    return lambda token: (
        bytes(table[letter] for letter in token)
        if all(letter in table for letter in token)
        else token.encode()
    )


def _byte_table() -> dict[str, int]:
    """GPT-2's letters for the 256 bytes: printable ones stand for themselves, the others for U+0100
    on, in order."""
    printable = [
        *range(ord("!"), ord("~") + 1),
        *range(ord("¡"), ord("¬") + 1),
        *range(ord("®"), ord("ÿ") + 1),
    ]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(256 + place): byte for place, byte in enumerate(others)
    }


def _sentence_piece(token: str) -> bytes:
    if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
        return bytes([int(token[3:5], 16)])
    return token.replace("\u2581", " ").encode("utf-8", "replace")
