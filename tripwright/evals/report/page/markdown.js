// An answer in words: the tree that Python made of its markdown, as elements. `card` makes the
// element of an evidence card.

function markdown(blocks, card) {
  const inline = (nodes) => nodes.map((node) => INLINE[node.kind](node));
  const block = (node) => BLOCKS[node.kind](node);
  const row = (tag, cells) => el("tr", {}, cells.map((cell) => el(tag, {}, inline(cell))));
  const INLINE = {
    text: (node) => document.createTextNode(node.text),
    code: (node) => el("code", {}, node.text),
    strong: (node) => el("strong", {}, inline(node.inline)),
    em: (node) => el("em", {}, inline(node.inline)),
    link: (node) => [inline(node.inline), " ", el("span", {class: "muted"}, `(${node.url})`)],
    card,
  };
  const BLOCKS = {
    heading: (node) => el(`h${Math.min(6, Math.max(4, node.level + 1))}`, {}, inline(node.inline)),
    paragraph: (node) => el("p", {}, inline(node.inline)),
    list: (node) => el(node.start === null ? "ul" : "ol", {start: node.start},
      node.items.map((item) => el("li", {}, item.map(block)))),
    code: (node) => el("pre", {}, node.text),
    quote: (node) => el("blockquote", {}, node.blocks.map(block)),
    rule: () => el("hr"),
    table: (node) => el("div", {class: "rows"}, el("table", {},
      el("thead", {}, row("th", node.head)),
      el("tbody", {}, node.rows.map((cells) => row("td", cells))))),
  };
  return el("div", {class: "md"}, blocks.map(block));
}
