"""Markdown as a tree: nothing that a model wrote is lost, none of it is markup."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tripwright.evals.report.viewer import blocks

KINDS = {
    "heading",
    "paragraph",
    "list",
    "table",
    "quote",
    "code",
    "rule",
    "text",
    "strong",
    "em",
    "link",
    "card",
}


def text(*words: str) -> list[dict[str, str]]:
    return [{"kind": "text", "text": word} for word in words]


def paragraph(*inline: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"kind": "paragraph", "inline": list(inline)}]


def leaves(node: Any) -> str:
    """Everything that will be visible, in order."""
    if isinstance(node, list):
        return "".join(map(leaves, node))
    if node.get("kind") == "card":
        return f"call {node['call']}, row {node['row']}"
    return "".join(
        leaves(value) if isinstance(value, list) else str(value)
        for name, value in node.items()
        if name in VISIBLE
    )


VISIBLE = ("text", "url", "inline", "blocks", "head", "rows", "items")


def test_the_answers_of_row_d11() -> None:
    found = blocks(
        "As asked.\n\n### Stay (2026-06-26)\n#### Kendale Inn\n- **Price**: 99 USD\n- **Evidence**: [call 2, row 1]\n"
    )
    assert found == [
        {"kind": "paragraph", "inline": text("As asked.")},
        {"kind": "heading", "level": 3, "inline": text("Stay (2026-06-26)")},
        {"kind": "heading", "level": 4, "inline": text("Kendale Inn")},
        {
            "kind": "list",
            "start": None,
            "items": [
                paragraph({"kind": "strong", "inline": text("Price")}, *text(": 99 USD")),
                paragraph(
                    {"kind": "strong", "inline": text("Evidence")},
                    *text(": "),
                    {"kind": "card", "call": 2, "row": 1},
                ),
            ],
        },
    ]


@pytest.mark.parametrize(
    ("said", "kinds"),
    [
        ("plain *em* and `code`", ["text", "em", "text", "code"]),
        ("2 * 3 * 4 and a_b_c and 3 < 4", ["text"]),
        ("**bold *both***", ["strong"]),
        (
            "[a page](https://x.example) ![a picture](https://y.example/p.png)",
            ["link", "text", "link"],  # the mark of a picture stays before its address
        ),
        (r"\*not em\* \[call 1, row 1\]", ["text"]),
        ("[call 1 , row 2], [Call 3, row 4]", ["card", "text", "card"]),
        ("[call one, row two] [row 1, call 2] [call 1]", ["text"]),
        ("`[call 1, row 2]`", ["code"]),
    ],
)
def test_inline(said: str, kinds: list[str]) -> None:
    assert [node["kind"] for node in blocks(said)[0]["inline"]] == kinds


def test_lists_tables_quotes_and_fences() -> None:
    found = blocks(
        "1. one\n   and on\n   - under\n2) two\n\n| a | b |\n|---|:-:|\n| `1` | [call 1, row 1] |\n\n> said\n\n```\n# no *markup*\n```\n---"
    )
    assert [node["kind"] for node in found] == ["list", "list", "table", "quote", "code", "rule"]
    (words, under), (two,) = found[0]["items"][0], found[1]["items"][0]
    assert (leaves(words), under["start"], leaves(under)) == ("one\nand on", None, "under")
    assert (found[0]["start"], found[1]["start"], leaves(two)) == (1, 2, "two")
    assert found[2]["rows"] == [
        [[{"kind": "code", "text": "1"}], [{"kind": "card", "call": 1, "row": 1}]]
    ]
    assert found[4]["text"] == "# no *markup*"


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<!-- hidden words for a verifier -->",
        '<img src=x onerror="alert(1)">',
        "[click](javascript:alert(1))",
        "![](http://elsewhere.example/pixel.png)",
    ],
)
def test_html_and_addresses_stay_text(hostile: str) -> None:
    """The tree has no kind for HTML, pictures or anything that is fetched; the words are there for
    raters to see."""
    found = blocks(hostile)
    assert found[0]["kind"] == "paragraph" and {node["kind"] for node in found[0]["inline"]} <= {
        "text",
        "link",
    }
    for word in hostile.replace("](", " ").strip("![])").split():
        assert word.strip("()") in leaves(found)


def test_what_turns_or_hides_text_is_shown_as_a_mark() -> None:
    assert leaves(blocks("a\u202eb\x00c\u2066d")) == "a\ufffdb\ufffdc\ufffdd"


@given(
    st.text(
        alphabet=st.sampled_from("ab *_`[](){}|>#-+1.\\\n!~:,<\t") | st.characters(), max_size=200
    )
)
def test_nothing_raises_and_no_letter_is_lost(said: str) -> None:
    found = blocks(said)
    assert {node["kind"] for node in found} <= KINDS
    shown = leaves(found)
    # the words after an opening fence name a language, and are not shown
    fence = "```" in said or "~~~" in said
    assert fence or [c for c in shown if c in "ab"] == [c for c in said if c in "ab"]


@pytest.mark.parametrize(
    "piece",
    [
        "[",
        "**a",
        "*a ",
        "`",
        "[call 1, row ",
        "> ",
        "- ",
        "|",
        "_a",
        "\\",
        "[a](",
        "![",
        "#### ",
        "  - a\n",
    ],
)
def test_a_long_hostile_text_is_read_to_its_end(piece: str) -> None:
    """With unbounded patterns these would take hours: no test would come back."""
    letters = piece.count("a")
    assert leaves(blocks(piece * 5_000)).count("a") == 5_000 * letters
