// An answer in words: the tree that the report made of its markdown, as elements. Cards open the row of the tool answer they stand on.

const BLOCKS = {
  heading: (node) => el(`h${Math.min(6, Math.max(4, node.level + 1))}`, {}, inline(node.inline)),
  paragraph: (node) => el("p", {}, inline(node.inline)),
  list: (node) => el("ul", {}, node.items.map((item) => el("li", {class: [`l${item.level}`, item.number ? "numbered" : ""].join(" ").trim()},
    item.number ? `${item.number}. ` : null, inline(item.inline)))),
  code: (node) => el("pre", {}, node.text),
  quote: (node) => el("blockquote", {}, node.blocks.map(block)),
  rule: () => el("hr"),
  table: (node) => el("div", {class: "rows"}, el("table", {}, el("thead", {}, el("tr", {}, node.head.map((cell) => el("th", {}, inline(cell))))),
    el("tbody", {}, node.rows.map((row) => el("tr", {}, row.map((cell) => el("td", {}, inline(cell)))))))),
};

const INLINE = {
  text: (node) => document.createTextNode(node.text),
  code: (node) => el("code", {}, node.text),
  strong: (node) => el("strong", {}, inline(node.inline)),
  em: (node) => el("em", {}, inline(node.inline)),
  link: (node) => [node.text, " ", el("span", {class: "muted"}, `(${node.url})`)],
  card: (node) => card(node.call, node.row),
};

const block = (node) => BLOCKS[node.kind](node);
const inline = (nodes) => nodes.map((node) => INLINE[node.kind](node));

function answer(episode) {
  return episode.answer.length ? el("div", {class: "md"}, episode.answer.map(block)) : el("p", {class: "none"}, "No answer was given.");
}

function card(call, row) {
  return el("button", {type: "button", class: "chip", "data-card": call, "data-at": row || "", title: "Show this row of the tool's answer"},
    row ? `call ${call}, row ${row}` : `call ${call}`);
}

/** Opens the call that a card names, beneath the same episode, and lights its row. A card that names nothing says so. */
function follow(chip) {
  const within = chip.closest(".side") || chip.closest(".detail");
  const call = within.querySelector(`details.call[data-call="${Number(chip.dataset.card)}"]`);
  for (const lit of within.querySelectorAll(".lit")) lit.classList.remove("lit");
  if (call) call.unfold();
  const row = call && chip.dataset.at && "rows" in call.dataset ? call.querySelector(`tr[data-row="${Number(chip.dataset.at)}"]`) : call && call.querySelector("summary");
  if (!row) {
    chip.classList.add("missing");
    chip.textContent = `${chip.textContent.replace(/ ✗.*/, "")} ✗ no such row`;
    return;
  }
  row.classList.add("lit");
  row.scrollIntoView({block: "center"});
  row.focus({preventScroll: true});
}
