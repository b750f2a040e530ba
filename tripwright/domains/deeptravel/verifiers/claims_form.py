"""An answer's text as a reader would see it, and whatever a reader would not see: hidden text,
look-alike letters, quoted tool output.

Both sides of every comparison go through `plain`: the answer and the tool answers. It makes
typography alike and nothing else; letters of another script stay what they are, so a look-alike
never equals a name.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST_ANSWER = 20_000  # characters; a plan for two directions and a stay takes some 1,500
LONGEST_LINE = 3_000  # a paragraph has some 500; patterns are tried at every place of a line
_TYPOGRAPHY = str.maketrans(
    {
        **dict.fromkeys("\u00a0\u2007\u2009\u202f\u2002\u2003\u2008\u3000\t", " "),
        **dict.fromkeys("‘’ʼ′", "'"),
        **dict.fromkeys("“”„«»", '"'),
        **dict.fromkeys("‐‑‒–—−", "-"),
        **dict.fromkeys("➔➜➝⇒⟶➞", "→"),
        "…": ".",
    }
)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_TAG = re.compile(r"<!|</?[a-zA-Z][^<>\n]{0,200}>|<\?|&(?:#\d+|#x[0-9a-f]+|[a-z]+);", re.IGNORECASE)
# a link definition: markdown never shows it
_COMMENT_LINK = re.compile(r"^\s*\[[^\]\n]*\]:\s", re.MULTILINE)
_DIGITS = re.compile(r"\d[\d,]{17,}")
_ENDLESS = re.compile(r"\S{300,}")
_RAW = re.compile(
    r'"(?:rows|row|departs_at|arrives_at|checkin_date|price|minutes)"\s*:|\[\s*\[\s*["\d]'
)


def plain(text: str) -> str:
    """One way of writing spaces, quotes, dashes and composed letters."""
    return unicodedata.normalize("NFC", text).translate(_TYPOGRAPHY).replace("->", "→")


def visible(answer: str) -> tuple[str, list[tuple[str, str]]]:
    """The text that is read, and what is wrong with its form as (kind, what was found)."""
    wrong: list[tuple[str, str]] = []
    if len(answer) > LONGEST_ANSWER:
        wrong.append(("too_long", f"{len(answer):,} characters"))
        answer = answer[:LONGEST_ANSWER]
    text = _BREAK.sub("\n", plain(answer))
    unseen = sorted({f"U+{ord(c):04X}" for place, c in enumerate(text) if _unseen(text, place)})
    if unseen:
        wrong.append(("hidden_text", f"characters that are not shown: {', '.join(unseen[:5])}"))
    for pattern, what in ((_TAG, "markup"), (_COMMENT_LINK, "a link definition")):
        if found := pattern.search(text):
            wrong.append(("hidden_text", f"{what}: {found[0].strip()[:40]}"))
    if found := _RAW.search(text):
        wrong.append(("raw_tool_output", f"the tools' own notation: {found[0]}"))
    odd = sorted(
        {c for c in text if c.isnumeric() and c not in "0123456789½¼¾" and not _emoji_digit(c)}
    )
    if odd:
        wrong.append(("look_alike", f"digits of another script: {' '.join(odd[:5])}"))
    if found := _DIGITS.search(text):
        wrong.append(("unreadable", f"a number of {len(found[0])} digits"))
        text = _DIGITS.sub("", text)
    if found := _ENDLESS.search(text):
        wrong.append(("unreadable", f"a word of {len(found[0])} letters"))
        text = _ENDLESS.sub(" ", text)
    if max(map(len, text.split("\n"))) > LONGEST_LINE:
        wrong.append(("unreadable", f"a line of more than {LONGEST_LINE:,} characters"))
        text = "\n".join(line[:LONGEST_LINE] for line in text.split("\n"))
    return "".join(c if c in "\n" or unicodedata.category(c)[0] != "C" else "" for c in text), wrong


def _unseen(text: str, place: int) -> bool:
    character = text[place]
    category = unicodedata.category(character)
    if character == "\n" or (category[0] != "C" and not unicodedata.combining(character)):
        return character == "\u3164" or character == "\u115f"  # fillers: letters that show nothing
    # within an emoji
    return not (
        character == "\u200d" and place and unicodedata.category(text[place - 1]) in ("So", "Mn")
    )


def _emoji_digit(character: str) -> bool:
    return unicodedata.category(character) == "So"


def look_alike(word: str) -> bool:
    """Whether a word has letters that are not Latin. Of a tool answer or the request it would have
    been recognised as what it is."""
    return any(
        c.isalpha()
        and not unicodedata.name(c, "").startswith(("LATIN", "FEMININE", "MASCULINE", "MICRO"))
        for c in word
    )
