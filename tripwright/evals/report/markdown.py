"""An answer's markdown as a tree of plain values, so that a page can build it from text nodes
alone: no HTML comes out of here, and none that a model wrote goes in. Tags, comments and addresses
of images stand there as the text they are.

markdown-it reads it: CommonMark and tables, without what would hide letters (HTML, entities,
definitions of links, indented code). Blocks: heading, paragraph, list, table, quote, code, rule.
Inline: text, strong, em, code, link (its address as text) and card, which is an evidence card of
DeepTravel's answers (row D11), "[call 2, row 1]".
"""

from __future__ import annotations

import re
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.tree import SyntaxTreeNode

Node = dict[str, Any]

DEEPEST = 40  # marks in each other; the parser would leave out what is deeper
_CARD = re.compile(r"\[call\s{0,3}(\d{1,4})\s{0,3},?\s{0,3}row\s{0,3}(\d{1,6})\]", re.IGNORECASE)
# Control characters, lone surrogates, and those that turn the direction of what follows: a text
# must look like what it is.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)
_UNREAD = (
    *("html_block", "html_inline", "entity", "reference", "autolink", "image"),
    *("code", "lheading"),  # models indent, and draw lines under paragraphs, without meaning these
)


def blocks(text: str) -> list[Node]:
    """The tree of an answer."""
    text = _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", text)
    tokens = _PARSER.parse(text)
    if any(token.level >= DEEPEST for token in tokens):
        return [{"kind": "code", "text": text}]
    return [_node(child) for child in SyntaxTreeNode(tokens).children]


def _node(node: SyntaxTreeNode) -> Node:
    match node.type:
        case "text":
            return {"kind": "text", "text": node.content}
        case "softbreak" | "hardbreak":
            return {"kind": "text", "text": "\n"}
        case "code_inline" | "fence":
            return {"kind": "code", "text": node.content.removesuffix("\n")}
        case "card":
            return {"kind": "card", **node.meta}
        case "link":
            address = " ".join(str(value) for value in node.attrs.values())
            return {"kind": "link", "inline": _children(node), "url": address}
        case "strong" | "em":
            return {"kind": node.type, "inline": _children(node)}
        case "heading":
            return {"kind": "heading", "level": int(node.tag[1:]), "inline": _inline(node)}
        case "bullet_list" | "ordered_list":
            start = None if node.type == "bullet_list" else node.attrs.get("start", 1)
            return {"kind": "list", "start": start, "items": [_children(i) for i in node.children]}
        case "blockquote":
            return {"kind": "quote", "blocks": _children(node)}
        case "hr":
            return {"kind": "rule"}
        case "table":
            head, *rows = (
                [_inline(cell) for cell in row.children]
                for part in node.children
                for row in part.children
            )
            return {"kind": "table", "head": head, "rows": rows}
        case _:
            return {"kind": "paragraph", "inline": _inline(node)}


def _children(node: SyntaxTreeNode) -> list[Node]:
    return [_node(child) for child in node.children if child.type != "text" or child.content]


def _inline(node: SyntaxTreeNode) -> list[Node]:
    return [inline for child in node.children for inline in _children(child)]


def _card(state: StateInline, silent: bool) -> bool:
    card = _CARD.match(state.src, state.pos, state.posMax)
    if card and not silent:
        state.push("card", "", 0).meta = {"call": int(card[1]), "row": int(card[2])}
    if card:
        state.pos = card.end()
    return card is not None


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": DEEPEST})
    parser.enable("table").disable(list(_UNREAD))
    parser.inline.ruler.before("link", "card", _card)
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]  # as it was written
    return parser


_PARSER = _parser()
