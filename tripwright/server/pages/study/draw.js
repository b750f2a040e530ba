// From JSON values to elements, by `el` and `markdown` of the report's scripts (dom.js, markdown.js).
// Everything that came from a transcript becomes a text node or an attribute that runs nothing.

export function reading(item, slowSeconds) {
  const request = el("section", {class: "request", "aria-label": "Request"}, el("h2", {}, "The traveller asks"),
    el("p", {class: "words"}, item.request.text || "No words, only these facts."), facts(item.request.facts));
  const known = item.seconds !== null;
  const slow = known && item.seconds > slowSeconds;
  const took = known ? `took ${item.seconds} s${slow ? `, more than ${slowSeconds} s` : ""}` : "time not recorded";
  const answer = el("article", {class: "answer", "aria-label": "Answer"},
    el("div", {class: "bar"}, el("h2", {}, "The answer"), el("span", {class: slow ? "took slow" : "took"}, took)), body(item.answer));
  return [request, answer];
}

function facts(pairs) {
  if (!pairs.length) return null;
  return el("dl", {class: "facts"}, pairs.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

function body(answer) {
  if (answer.kind === "none") return el("p", {class: "none"}, `There is no answer: ${answer.why}.`);
  if (answer.kind === "text") return el("pre", {}, answer.text);
  if (answer.kind === "plan") return answer.days.map(day);
  return markdown(answer.blocks, card);
}

function day(found) {
  const lines = found.lines.map(([label, ...pieces]) => [el("dt", {}, label), pieces.map((piece, i) => [i ? el("dt", {}) : null, el("dd", {}, piece)])]);
  return el("section", {class: "day"}, el("h3", {}, `Day ${found.number} ${found.date}`), el("p", {class: "city"}, found.city), el("dl", {}, lines));
}

function card(node) {
  return el("button", {type: "button", class: node.found ? "chip" : "chip missing",
    "data-call": node.call, "data-row": node.row,
    title: node.found ? "Show this row of the tool answer" : "There is no such row in the tool answers"},
  `call ${node.call}, row ${node.row}${node.found ? "" : " ✗ no such row"}`);
}

export function call(found) {
  const count = found.table ? found.table.rows.length : 0;
  const size = found.error ? "refused" : found.table ? `${count} ${count === 1 ? "row" : "rows"}` : "text";
  const asked = found.arguments.map(([name, value]) => `${name}: ${value}`).join(", ");
  const summary = el("summary", {}, el("span", {class: "name"}, `${found.number}. ${found.name}`), " ", el("span", {class: "size"}, size),
    el("span", {class: "asked"}, asked));
  const rest = found.text ? el(found.table ? "p" : "pre", {class: found.table ? "rest" : null}, found.text) : null;
  const shown = found.shown ? el("div", {class: "shown"}, el("p", {class: "muted"}, "The agent was shown this instead:"), el("pre", {}, found.shown)) : null;
  return el("details", {class: found.error ? "call failed" : "call", "data-call": found.number}, summary, found.table ? table(found) : null, rest, shown);
}

function table(found) {
  const {columns, rows} = found.table;
  const head = columns.length ? el("thead", {}, el("tr", {}, el("th", {class: "number", scope: "col"}, "row"), columns.map((name) => el("th", {scope: "col"}, name)))) : null;
  const drawn = rows.map((row, i) => el("tr", {"data-row": i + 1},
    el("td", {class: "number"}, el("button", {type: "button", "aria-expanded": "false", "aria-label": `Row ${i + 1} in full`}, String(i + 1))),
    row.map((cell) => el("td", {}, cell))));
  return el("div", {class: "scroll"}, el("table", {}, head, el("tbody", {}, drawn)));
}

/** The whole of a row under it, a line for each column; again, it is folded. Returns whether it is open now. */
export function toggleRow(row, columns, open) {
  const under = row.nextElementSibling;
  const isOpen = under !== null && under.classList.contains("whole");
  const wanted = open === undefined ? !isOpen : open;
  row.querySelector("button").setAttribute("aria-expanded", String(wanted));
  if (isOpen && !wanted) under.remove();
  if (!isOpen && wanted) {
    const cells = [...row.cells].slice(1).map((cell) => cell.textContent);
    const pairs = cells.map((text, i) => [columns[i] || `${i + 1}`, text]).filter(([, text]) => text);
    const list = el("dl", {}, pairs.map(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]));
    row.after(el("tr", {class: "whole"}, el("td", {colspan: row.cells.length}, list)));
  }
  return wanted;
}

/** Marks where the words stand in an element that holds text alone. */
export function mark(element, words) {
  const text = element.textContent;
  if (!words.length) { element.replaceChildren(text); return; }
  const lower = text.toLowerCase();
  const pieces = [];
  let place = 0;
  while (place < text.length) {
    const hits = words.map((word) => [lower.indexOf(word, place), word.length]).filter(([at]) => at >= 0).sort((a, b) => a[0] - b[0] || b[1] - a[1]);
    if (!hits.length) break;
    const [at, length] = hits[0];
    pieces.push(text.slice(place, at), el("mark", {}, text.slice(at, at + length)));
    place = at + length;
  }
  element.replaceChildren(...pieces, text.slice(place));
}

export function dimension(found, number, choose) {
  const choice = (value, words) => {
    const input = el("input", {type: "radio", name: found.key, value: String(value), "aria-describedby": `ask-${found.key}`});
    input.addEventListener("change", () => choose(value));
    let was = false;
    const label = el("label", {class: value ? "yes" : "no", title: value ? found.true : found.false}, input, words);
    label.addEventListener("pointerdown", () => { was = input.checked; });
    input.addEventListener("click", () => { if (was) { was = false; choose(null); } });
    return label;
  };
  return el("fieldset", {"data-key": found.key}, el("legend", {}, el("span", {class: "key", "aria-hidden": "true"}, String(number)), el("span", {title: found.name}, found.short)),
    el("div", {class: "choice"}, choice(true, "✓ TRUE"), choice(false, "✗ FALSE")), el("p", {class: "question", id: `ask-${found.key}`}, found.question),
    el("p", {class: "when"}, el("b", {}, "TRUE: "), found.true), el("p", {class: "when"}, el("b", {}, "FALSE: "), found.false));
}
