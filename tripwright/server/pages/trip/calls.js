// What the agent looks up, as it happens: a line for each call, its answer folded behind it.

export class Calls {
  constructor(list) { this.list = list; this.clear(); }

  clear() { this.list.replaceChildren(); this.lines = new Map(); }

  call(call) {
    const said = Object.entries(call.arguments).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", ");
    const outcome = el("span", {class: "muted outcome"}, "…"), body = el("div", {class: "answer"});
    const folded = el("details", {}, el("summary", {}, el("b", {}, call.tool), " ", el("span", {class: "arguments"}, said), " ", outcome), body);
    if (call.thinking) body.append(el("p", {class: "thought"}, call.thinking));
    this.lines.set(call.number, {folded, outcome, body});
    this.list.append(el("li", {id: `call-${call.number}`}, folded));
  }

  answer(answer) {
    const line = this.lines.get(answer.number);
    if (!line) return;
    const rows = answer.rows;
    line.outcome.textContent = answer.error ? "refused" : rows ? counted(rows.length, "row") : "answered";
    line.outcome.classList.toggle("problem", Boolean(answer.error));
    line.body.append(rows && rows.length ? table(rows) : el("pre", {}, answer.text));
  }

  /** Opens the row of a call that a line of the plan rests on. */
  show(number, row) {
    const line = this.lines.get(number);
    if (!line) return;
    this.list.closest("details").open = line.folded.open = true;
    for (const lit of this.list.querySelectorAll(".lit")) lit.classList.remove("lit");
    const target = line.body.querySelectorAll("tbody tr")[row - 1] ?? line.folded;
    target.classList.add("lit");
    target.tabIndex = -1;
    target.focus({preventScroll: true});
    target.scrollIntoView({block: "center"});
  }
}

function table(rows) {
  const fields = Object.keys(rows[0]);
  const shown = (value) => (value === null || value === undefined ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value));
  return el("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Rows of the answer"},
    el("table", {},
      el("thead", {}, el("tr", {}, fields.map((field) => el("th", {scope: "col"}, field.replaceAll("_", " "))))),
      el("tbody", {}, rows.map((row) => el("tr", {}, fields.map((field) => el("td", {}, shown(row[field]))))))));
}
