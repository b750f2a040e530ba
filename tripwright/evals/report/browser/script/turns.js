// What the agent did, message by message: prompts and tool answers folded, errors and refused turns marked, tokens on demand.

const CALL = /<tool_call>[^]*?(?:<\/tool_call>|$)/g;
const ANSWER = /<answer>([^]*?)(?:<\/answer>|$)/;
const SPECIAL = /<\|[a-z_]+\|>/g;
const MOST_ROWS = 200; // of a tool's table, before one asks for the rest
const DARKEST = 300; // hundredths of a nat: a token that was this unlikely is shaded fully

const length = (text) => el("small", {}, `${text.length.toLocaleString("en")} characters`);
const tokensOf = (item) => (item.n ? el("small", {class: "tokens"}, item.n[1] ? `${counted(item.n[0], "token")}, ${item.n[1] === item.n[0] ? "all" : item.n[1]} trained on`
  : `${counted(item.n[0], "token")}, not trained on`) : null);

/** `view`: {tokens: whether to show them, words: what was searched for, differs: numbers of calls to mark}. */
function conversation(episode, view) {
  const last = episode.i.findLastIndex((item) => item.k === "a");
  return episode.i.map((item, place) => {
    if (item.k === "p") return prompt(item, view);
    if (item.k === "c") return answered(item, view);
    const gone = item.o ? episode.i.slice(0, item.o).filter((earlier) => earlier.k === "a").length : 0;
    return said(item, view, place === last && episode.stop !== "answer" ? episode.stop : null, gone);
  });
}

function prompt(item, view) {
  const text = typeof item.t === "number" ? data.prompts[item.t] : item.t;
  return fold("prompt", [el("span", {class: "who"}, item.r), view.tokens ? tokensOf(item) : length(text)], () => el("pre", {}, text));
}

/** `gone`: how many of the first turns had left its context. */
function said(item, view, stop, gone) {
  const problem = item.p || (stop && stop !== "unscored" ? stop : null);
  const parts = [];
  if (problem) parts.push(el("p", {class: "refused"}, item.p ? `✗ refused: ${plain(item.p)}` : `✗ the episode ended here: ${plain(stop)}`));
  if (gone) parts.push(el("p", {class: "muted"}, `without the first ${counted(gone, "turn")}, for which the context had no room any more`));
  if (view.tokens && item.n) parts.push(tokenView(item));
  else {
    const text = item.t.replace(SPECIAL, "");
    const answer = text.match(ANSWER);
    const prose = (item.c ? text.replace(CALL, "") : text).replace(ANSWER, "").trim();
    if (prose) parts.push(el("p", {class: "said"}, prose));
    if (answer) parts.push(fold("answer", ["answer", length(answer[1].trim())], () => el("pre", {}, answer[1].trim()), holds(answer[1], view)));
    if (!prose && !answer && !item.c) parts.push(el("p", {class: "said muted"}, "(said nothing)"));
  }
  return parts.length ? el("div", {class: problem ? "turn broken" : "turn"}, parts) : null;
}

function answered(item, view) {
  if (!item.f) return fold("prompt", [el("span", {class: "who"}, "told instead"), length(item.t)], () => el("pre", {}, item.t), holds(item.t, view));
  const marks = [item.e ? el("b", {class: "fail"}, " error") : null, item.d ? el("b", {class: "fail"}, ` made to fail: ${item.d}`) : null];
  const summary = [el("span", {class: "number"}, `${item.c}.`), " ", el("code", {}, el("b", {}, item.f), `(${argumentsOf(item)})`), marks,
    view.tokens ? tokensOf(item) : length(item.t)];
  const kind = ["call", item.e || item.d ? "failed" : "", view.differs && view.differs.has(item.c) ? "differs" : ""].filter(Boolean).join(" ");
  const words = () => el("pre", {}, item.t);
  const made = fold(kind, summary, () => [item.r && item.r[1].length ? [tableOf(item.r), fold("prompt", ["as text", length(item.t)], words)] : words(),
    item.s ? [el("p", {class: "muted"}, "The agent was shown this:"), el("pre", {}, item.s)] : []], holds(item.t, view));
  made.dataset.call = item.c;
  if (item.r) made.dataset.rows = item.r[1].length; // not said by folders of an older version
  return made;
}

const argumentsOf = (item) => Object.entries(item.a || {}).map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(", ");
const holds = (text, view) => Boolean(view.words && view.words.length && view.words.every((word) => text.toLowerCase().includes(word)));

/** The rows that the agent was shown, as a table that numbers them. */
function tableOf([fields, rows, first, total]) {
  const cell = (value) => el("td", {}, value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));
  const body = el("tbody", {});
  const draw = (from, to) => rows.slice(from, to).forEach((row, k) => body.append(el("tr", {"data-row": first + from + k, tabindex: "-1"},
    el("td", {class: "number"}, String(first + from + k)), row.map(cell))));
  draw(0, MOST_ROWS);
  const table = el("div", {class: "rows"}, el("table", {}, el("thead", {}, el("tr", {}, el("th", {}, ""), fields.map((name) => el("th", {}, plain(name))))), body));
  const left = rows.length - MOST_ROWS;
  const more = left > 0 ? el("button", {type: "button", class: "quiet more", click: () => { draw(MOST_ROWS, rows.length); more.remove(); }}, `${counted(left, "more row")}`) : null;
  const others = total === null || total === rows.length ? null : el("p", {class: "aside"}, `of ${counted(total, "row")} in all`);
  return [table, more, others].filter(Boolean);
}

/** Each token on ground that is darker the less likely it was; hatched where its mask is 0. Without words, cells stand for the tokens. */
function tokenView(item) {
  const out = new Set(item.m || []);
  const tokens = Array.from({length: item.n[0]}, (_, k) => {
    const p = item.l ? item.l[k] : null;
    const trained = item.n[1] > 0 && !out.has(k);
    const title = [`token ${k + 1}`, p === null ? "" : `log-probability ${(-p / 100).toFixed(2)}, probability ${(100 * Math.exp(-p / 100)).toFixed(1)}%`,
      trained ? "trained on" : "not trained on"].filter(Boolean).join("\n");
    const made = el("span", {class: trained ? "tok" : "tok out", title}, item.w ? item.w[k] || "\u200b" : " ");
    made.style.setProperty("--doubt", p === null ? 0 : Math.min(1, p / DARKEST).toFixed(2));
    return made;
  });
  const told = item.l ? `mean log-probability ${(-item.l.reduce((a, b) => a + b, 0) / 100 / Math.max(1, item.l.length)).toFixed(3)}` : "";
  const words = item.w ? null : [el("pre", {}, item.t), el("p", {class: "aside"}, "One cell per token; their words need the model's tokenizer.json in the run folder.")];
  return el("div", {class: "tokenview"}, el("p", {class: "aside"}, tokensOf(item), told ? ` · ${told}` : ""), el("div", {class: item.w ? "toks" : "toks cells"}, tokens), words);
}
