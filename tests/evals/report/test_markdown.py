"""Markdown as a tree: nothing that a model wrote is lost, none of it is markup."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tripwright.evals.report.viewer import blocks

TAGS = set(
    "h4 h5 h6 p ul ol li table thead tbody tr th td blockquote pre hr strong em code".split()
)


def made(tag: str, *children: Any, **attributes: Any) -> dict[str, Any]:
    return {"tag": tag, **attributes, "children": list(children)}


def nodes(tree: list[Any]) -> Iterator[Any]:
    for node in tree:
        yield node
        if isinstance(node, dict):
            yield from nodes(node.get("children", []))


def kind(node: Any) -> str:
    return "text" if isinstance(node, str) else str(node["tag"])


def leaves(tree: list[Any]) -> str:
    """Everything that will be visible, in order."""
    return "".join(node for node in nodes(tree) if isinstance(node, str))


def test_the_answers_of_row_d11():
    found = blocks(
        "As asked.\n\n### Stay (2026-06-26)\n#### Kendale Inn\n- **Price**: 99 USD\n- **Evidence**: [call 2, row 1]\n"
    )
    said = {"Price": ": 99 USD", "Evidence": ": [call 2, row 1]"}
    items = [made("li", made("p", made("strong", head), text)) for head, text in said.items()]
    opening = [made("p", "As asked."), made("h4", "Stay (2026-06-26)"), made("h5", "Kendale Inn")]
    assert found == [*opening, made("ul", *items)]


@pytest.mark.parametrize(
    ("said", "kinds"),
    [
        ("plain *em* and `code`", ["text", "em", "text", "code"]),
        ("2 * 3 * 4 and a_b_c and 3 < 4", ["text"]),
        ("**bold *both***", ["strong"]),
        ("[a page](https://x.example) ![a picture](https://y.example/p.png)", ["text"]),
        (r"\*not em\*", ["text"]),
        ("[call 1 , row 2], [Call 3, row 4]", ["text"]),
        ("`[call 1, row 2]`", ["code"]),
    ],
)
def test_inline(said, kinds):
    assert [kind(node) for node in blocks(said)[0]["children"]] == kinds


def test_lists_tables_quotes_and_fences():
    found = blocks(
        "1. one\n   and on\n   - under\n2) two\n\n| a | b |\n|---|:-:|\n| `1` | [call 1, row 1] |\n\n> said\n\n```\n# no *markup*\n```\n---"
    )
    assert list(map(kind, found)) == ["ol", "ol", "table", "blockquote", "pre", "hr"]
    words, under = found[0]["children"][0]["children"]
    assert (leaves([words]), kind(under), leaves([under])) == ("one\nand on", "ul", "under")
    assert (found[0]["start"], found[1]["start"], leaves([found[1]])) == (1, 2, "two")
    (row,) = found[2]["children"][1]["children"]
    assert row == made("tr", made("td", made("code", "1")), made("td", "[call 1, row 1]"))
    assert leaves([found[4]]) == "# no *markup*"


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
def test_html_and_addresses_stay_text(hostile):
    """The tree has no kind for HTML, pictures or anything that is fetched; the words are there for
    raters to see."""
    found = blocks(hostile)
    assert set(map(kind, nodes(found))) <= {"p", "text"}
    for word in hostile.replace("](", " ").strip("![])").split():
        assert word.strip("()") in leaves(found)


def test_what_turns_or_hides_text_is_shown_as_a_mark():
    assert leaves(blocks("a\u202eb\x00c\u2066d")) == "a\ufffdb\ufffdc\ufffdd"


@given(
    st.text(
        alphabet=st.sampled_from("ab *_`[](){}|>#-+1.\\\n!~:,<\t") | st.characters(), max_size=200
    )
)
def test_nothing_raises_and_no_letter_is_lost(said):
    found = blocks(said)
    assert set(map(kind, nodes(found))) <= {*TAGS, "text"}
    shown = leaves(found)
    # the words after an opening fence name a language, and are not shown
    fence = "```" in said or "~~~" in said
    assert fence or [c for c in shown if c in "ab"] == [c for c in said if c in "ab"]


PIECES = ("[", "**a", "*a ", "`", "[call 1, row ", "> ", "- ", "|", "_a", "\\", "[a](", "![")


@pytest.mark.parametrize("piece", [*PIECES, "#### ", "  - a\n"])
def test_a_long_hostile_text_is_read_to_its_end(piece):
    """With unbounded patterns these would take hours: no test would come back."""
    letters = piece.count("a")
    assert leaves(blocks(piece * 5_000)).count("a") == 5_000 * letters
