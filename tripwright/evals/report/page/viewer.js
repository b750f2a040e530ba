// What the page holds: columns about all episodes, and pieces of packed transcripts that are unpacked when one of theirs is read.

const data = JSON.parse(document.getElementById("episode-columns").textContent);
const total = data.id.length;
const KEPT_PIECES = 8; // unpacked ones that stay in memory
const AT_ONCE = 8; // pieces that a search unpacks side by side
const unpacked = new Map(); // number → promise of its lines; the latest used last

/** The request of an episode in words, and what it is counted under: {level: "easy", days: "3 days"}. */
const request = (i) => data.queries[data.query[i]];
const hasText = (i) => data.piece[i] >= 0;
const sourceName = (i) => { const s = data.sources[data.source[i]]; return s.run ? `${s.run} · ${s.name}` : s.name; };
const address = (i) => `${data.sources[data.source[i]].key}/${data.id[i]}`;
const addresses = new Map(data.id.map((_, i) => [address(i), i]));

async function lines(piece) {
  const packed = atob(document.getElementById(`piece-${piece}`).textContent);
  const bytes = new Uint8Array(packed.length);
  for (let k = 0; k < packed.length; k++) bytes[k] = packed.charCodeAt(k);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return (await new Response(stream).text()).split("\n");
}

function kept(piece) {
  const found = unpacked.get(piece) || lines(piece);
  unpacked.delete(piece);
  unpacked.set(piece, found);
  if (unpacked.size > KEPT_PIECES) unpacked.delete(unpacked.keys().next().value);
  return found;
}

/** The whole transcript, or null where the page holds none. */
async function transcript(i) {
  return hasText(i) ? JSON.parse((await kept(data.piece[i]))[data.line[i]]) : null;
}

/** Those episodes whose text holds every one of the words; `tell` hears the share that was looked at, `stopped` may end it early. */
async function holding(words, tell, stopped) {
  const wanted = words.map((word) => JSON.stringify(word).slice(1, -1).toLowerCase());
  const found = new Set();
  const pieces = new Map();
  for (let i = 0; i < total; i++) {
    if (!hasText(i)) continue;
    if (!pieces.has(data.piece[i])) pieces.set(data.piece[i], []);
    pieces.get(data.piece[i]).push(i);
  }
  const waiting = [...pieces];
  for (let from = 0; from < waiting.length; from += AT_ONCE) {
    const several = waiting.slice(from, from + AT_ONCE);
    const texts = await Promise.all(several.map(([piece]) => unpacked.get(piece) || lines(piece)));
    if (stopped()) return null;
    several.forEach(([, episodes], k) => {
      for (const i of episodes) {
        const text = texts[k][data.line[i]].toLowerCase();
        if (wanted.every((word) => text.includes(word))) found.add(i);
      }
    });
    tell(Math.min(1, (from + AT_ONCE) / waiting.length));
  }
  return found;
}

// Which episode of another evaluation answers the same request: the n-th here and the n-th there.
const nth = [];
const byRequest = data.sources.map(() => new Map()); // source → request → its episodes, in order
for (let i = 0; i < total; i++) {
  const there = byRequest[data.source[i]];
  if (!there.has(data.query[i])) there.set(data.query[i], []);
  nth.push(there.get(data.query[i]).push(i) - 1);
}
const counterpart = (i, source) => (byRequest[source].get(data.query[i]) || [])[nth[i]] ?? null;
const others = (i) => byRequest.flatMap((there) => there.get(data.query[i]) || []).filter((other) => other !== i);

// What is looked for. Each filter is a select whose options say how many episodes they would leave, beside all that is chosen elsewhere;
// the words are looked for in requests and ids, and on demand in everything that was said.

const ORDERS = {
  "": "as in the files",
  query: "by request",
  turns: "most turns first",
  tokens: "most tokens first",
  errors: "most tool errors first",
};

const choices = (values, words) => [...new Set(values)].map((value) => ({value: String(value), words: words(value)}));

const LEVELS = ["easy", "medium", "hard"];
const rank = (words) => (LEVELS.includes(words) ? LEVELS.indexOf(words) : parseInt(words) || LEVELS.length); // "3 days" before "10 days"
const ofAll = (column) => data.id.map((_, i) => column(i));

const FILTERS = [
  {key: "source", label: "Evaluation", column: (i) => data.source[i], words: (s) => [data.sources[s].run, data.sources[s].name].filter(Boolean).join(" · ")},
  {key: "verdict", label: "Verdict", column: (i) => data.verdict[i], words: (v) => VERDICTS[v].words},
  ...data.marks.map((field) => ({key: field, label: field[0].toUpperCase() + field.slice(1), column: (i) => request(i)[1][field] || "not said", words: (words) => words,
    sort: (a, b) => rank(a.value) - rank(b.value)})),
  {key: "stop", label: "Stopped by", column: (i) => data.stop[i], words: (stop) => data.stops[stop]},
];

function makeFilters(changed) {
  const selects = {};
  const field = (label, control) => el("label", {class: "filter"}, el("span", {}, label), control);
  const select = (key, label, options) => {
    selects[key] = el("select", {change: changed}, el("option", {value: ""}, "all"),
      options.map(({value, words}) => el("option", {value, "data-words": words}, words)));
    return field(label, selects[key]);
  };
  const made = FILTERS.map(({key, label, column, words, sort}) => {
    const options = choices(ofAll(column), words).sort(sort || (() => 0));
    return options.length > 1 ? select(key, label, options) : null;
  });
  const often = data.failed.flat().reduce((counts, f) => counts.set(String(f), (counts.get(String(f)) || 0) + 1), new Map());
  const failures = choices(data.failed.flat(), (f) => data.failures[f]).sort((a, b) => often.get(b.value) - often.get(a.value));
  if (failures.length) made.push(select("failed", "Fails at", failures));
  if (data.sources.length > 1) {
    made.push(select("against", "Compare with", data.sources.map((_, s) => ({value: String(s), words: FILTERS[0].words(s)}))));
    selects.against.options[0].textContent = "nothing";
    made.push(select("outcome", "Outcome", Object.entries(OUTCOMES).map(([value, words]) => ({value, words}))));
    selects.outcome.closest("label").hidden = true;
  }
  selects.order = el("select", {change: changed}, Object.entries(ORDERS).map(([value, words]) => el("option", {value}, words)));
  made.push(field("Order", selects.order));
  const words = el("input", {type: "search", id: "words", placeholder: "words of the request", autocomplete: "off", spellcheck: "false", input: changed});
  const deep = el("input", {type: "checkbox", change: changed});
  const search = el("div", {class: "search"}, field("Search  /", words), el("label", {class: "deep"}, deep, "in everything that was said, too"));
  return {selects, words, deep, element: el("div", {class: "filters"}, search, made)};
}

const OUTCOMES = {here: "passes only here", there: "passes only there", both: "both pass", neither: "neither passes"};

function outcomeOf(i, other) {
  if (data.verdict[i] < 0 || data.verdict[other] < 0) return "unscored";
  return {11: "both", 10: "here", "01": "there", "00": "neither"}[`${data.verdict[i]}${data.verdict[other]}`];
}

const wordsIn = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
const requestText = data.queries.map(([text]) => text.toLowerCase());

/** The episodes that pass every filter, in the order asked for; `said` is the set that the words were found in, or null;
 * `without` is the filter that is left out of account. */
function matching({selects, words}, said, without) {
  const asked = FILTERS.filter(({key}) => key !== without && selects[key] && selects[key].value !== "").map(({key, column}) => [column, selects[key].value]);
  const failed = without !== "failed" && selects.failed && selects.failed.value !== "" ? Number(selects.failed.value) : null;
  const against = selects.against && selects.against.value !== "" ? Number(selects.against.value) : null;
  const outcome = against === null ? "" : selects.outcome.value;
  const wanted = wordsIn(words.value);
  const named = (i) => wanted.every((word) => requestText[data.query[i]].includes(word) || data.id[i].toLowerCase().includes(word));
  const found = [];
  for (let i = 0; i < total; i++) {
    if (!asked.every(([column, value]) => String(column(i)) === value)) continue;
    if (failed !== null && !data.failed[i].includes(failed)) continue;
    if (against !== null) {
      const other = data.source[i] === against ? null : counterpart(i, against);
      if (other === null || (outcome && outcomeOf(i, other) !== outcome)) continue;
    }
    if (wanted.length && !named(i) && !(said && said.has(i))) continue;
    found.push(i);
  }
  const by = {query: (i) => data.query[i], turns: (i) => -data.turns[i], tokens: (i) => -data.tokens[i], errors: (i) => -data.errors[i]}[selects.order.value];
  return by ? found.sort((a, b) => by(a) - by(b) || a - b) : found;
}

/** Writes beside each option how many episodes it would leave. */
function recount(filters, said) {
  for (const [key, columns] of [...FILTERS.map(({key, column}) => [key, (i) => [column(i)]]), ["failed", (i) => data.failed[i]]]) {
    if (!filters.selects[key]) continue;
    const counts = new Map();
    for (const i of matching(filters, said, key)) for (const value of columns(i)) counts.set(String(value), (counts.get(String(value)) || 0) + 1);
    for (const option of filters.selects[key].options) {
      if (option.value !== "") option.textContent = `${option.dataset.words} (${(counts.get(option.value) || 0).toLocaleString("en")})`;
    }
  }
}

// The list of episodes: only the rows in sight are in the page, whatever their number.

const ROW_PIXELS = 80;
const BEYOND = 6; // rows drawn above and below those in sight

function makeListing(chosen) {
  const sheet = el("div", {class: "sheet"});
  const box = el("div", {class: "listing", role: "listbox", tabindex: "0", "aria-label": "Episodes", id: "listing"}, sheet);
  let found = [];
  let at = -1; // place of the chosen one in `found`
  let against = null;

  function row(place) {
    const i = found[place];
    const [text, marks] = request(i);
    const other = against === null ? null : counterpart(i, against);
    const facts = [...Object.values(marks), counted(data.turns[i], "turn"), data.stops[data.stop[i]] === "answer" ? "" : data.stops[data.stop[i]],
      data.errors[i] ? counted(data.errors[i], "tool error") : "", data.refused[i] ? `${data.refused[i]} refused` : "", hasText(i) ? "" : "text not included"];
    const {sign, kind, words} = VERDICTS[data.verdict[i]];
    const made = el("div", {class: place === at ? "row chosen" : "row", role: "option", id: `row-${place}`, "aria-selected": String(place === at),
      "aria-setsize": found.length, "aria-posinset": place + 1},
      el("b", {class: `sign ${kind}`, "aria-label": words}, sign),
      other === null ? null : el("b", {class: `sign there ${VERDICTS[data.verdict[other]].kind}`, "aria-label": `there ${VERDICTS[data.verdict[other]].words}`}, VERDICTS[data.verdict[other]].sign),
      el("span", {class: "words"}, text), el("small", {}, el("span", {class: "from"}, sourceName(i)), facts.filter(Boolean).map((fact) => ` · ${fact}`)));
    made.style.top = `${place * ROW_PIXELS}px`;
    made.addEventListener("click", () => choose(place));
    return made;
  }

  function draw() {
    const first = Math.max(0, Math.floor(box.scrollTop / ROW_PIXELS) - BEYOND);
    const last = Math.min(found.length, Math.ceil((box.scrollTop + box.clientHeight) / ROW_PIXELS) + BEYOND);
    sheet.replaceChildren(...Array.from({length: Math.max(0, last - first)}, (_, k) => row(first + k)));
  }

  function choose(place, quietly) {
    if (!found.length) return;
    at = Math.max(0, Math.min(found.length - 1, place));
    const top = at * ROW_PIXELS;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + ROW_PIXELS > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW_PIXELS - box.clientHeight;
    draw();
    box.setAttribute("aria-activedescendant", `row-${at}`);
    if (!quietly) chosen(found[at]);
  }

  function show(episodes, compared) {
    const was = found[at];
    [found, against] = [episodes, compared];
    at = found.indexOf(was);
    sheet.style.height = `${found.length * ROW_PIXELS}px`;
    sheet.dataset.count = found.length;
    box.scrollTop = at < 0 ? 0 : box.scrollTop;
    box.removeAttribute("aria-activedescendant");
    if (at >= 0) choose(at, true);
    else draw();
  }

  box.addEventListener("scroll", () => requestAnimationFrame(draw), {passive: true});
  new ResizeObserver(draw).observe(box);
  box.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(box.clientHeight / ROW_PIXELS) - 1);
    const to = {ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: found.length - 1, Enter: at}[event.key];
    if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    choose(to);
  });
  return {
    element: box,
    show,
    move: (by) => choose(at + by),
    /** Marks an episode that was reached by its address; it may be filtered out. */
    point: (i) => { if (found.includes(i)) choose(found.indexOf(i), true); else { at = -1; draw(); } },
    place: () => [at + 1, found.length],
  };
}

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

// What came out: the plan day by day with what is wrong beside it, or the answer in words; and the verdict, what failed first.

const FIELDS = ["transportation", "breakfast", "attraction", "lunch", "dinner", "accommodation"];
const WAYS = ["flight", "self-driving", "taxi"];
const STATES = {passed: ["✓", "pass"], failed: ["✗", "fail"], not_applicable: ["–", "na"], not_evaluated: ["–", "na"]};
const said_ = (value) => (value === null || value === undefined || value === "" || value === "-" ? "" : typeof value === "object"
  ? (value.from && value.to ? `${value.from} → ${value.to}` : Array.isArray(value) ? value.map(said_).join("\n") : Object.entries(value).map(([k, v]) => `${plain(k)} ${said_(v)}`).filter((s) => s.trim()).join(", "))
  : String(value));

const dayNumber = (day, place) => Number(day.days ?? day.day ?? place + 1);
const dayFields = (day) => [...new Set([...FIELDS.filter((field) => field in day), ...Object.keys(day)])].filter((field) => !["day", "days", "current_city", "city"].includes(field));
const fieldOf = (kind) => (WAYS.includes(kind) ? "transportation" : kind);

function plan(episode) {
  if (typeof episode.plan === "string") return el("pre", {}, episode.plan);
  if (!episode.plan) return el("p", {class: "none"}, episode.schema ? `No plan: ${episode.schema}` : "No plan was delivered.");
  const wrong = remarks(episode);
  return el("div", {class: "days"}, episode.plan.map((day, place) => {
    const number = dayNumber(day, place);
    const costs = (episode.costs || []).filter(([on]) => on === number);
    const spent = costs.reduce((sum, cost) => sum + (cost[2] || 0), 0);
    const whole = [...(wrong.get(`${number}/`) || []), ...(wrong.get(`${number}/current_city`) || [])];
    const rows = dayFields(day).map((field) => {
      const text = said_(day[field]);
      const bad = wrong.get(`${number}/${field}`) || [];
      const cost = costs.filter(([, kind]) => fieldOf(kind) === field).reduce((sum, each) => sum + (each[2] || 0), 0);
      if (!text && !bad.length) return null;
      const pieces = text.split(";").map((piece) => piece.trim()).filter(Boolean);
      return [el("dt", {}, plain(field)), el("dd", {}, el("span", {}, pieces.length ? pieces.flatMap((piece, k) => (k ? [el("br"), piece] : [piece])) : "nothing"), cost ? el("span", {class: "cost"}, usd(cost)) : null),
        bad.map((message) => el("dd", {class: "wrong"}, `✗ ${message}`))];
    });
    const broken = whole.length || [...wrong.keys()].some((key) => key.startsWith(`${number}/`));
    return el("div", {class: broken ? "day broken" : "day"}, el("h5", {}, el("b", {}, `Day ${number}`), el("span", {}, said_(day.current_city ?? day.city)), costs.length ? el("span", {class: "cost"}, usd(spent)) : null),
      whole.map((message) => el("p", {class: "wrong"}, `✗ ${message}`)), el("dl", {}, rows));
  }));
}

/** "day/field" → what is wrong there, from the evidence of what failed. */
function remarks(episode) {
  const found = new Map();
  for (const [, name, state, , evidence] of episode.facts || []) {
    if (state !== "failed") continue;
    for (const [day, field, , needed] of evidence) {
      if (day === null || day === undefined) continue;
      const key = `${day}/${field ?? ""}`;
      found.set(key, [...(found.get(key) || []), `${plain(name)}${needed ? `: needed ${needed}` : ""}`]);
    }
  }
  return found;
}

function verdict(episode) {
  const parts = [];
  if (episode.fault) parts.push(el("p", {class: "warning"}, `Unscored: ${episode.fault}`));
  if (episode.schema && episode.plan) parts.push(el("p", {class: "warning"}, `The plan could not be read whole: ${episode.schema}`));
  if (episode.error) parts.push(el("p", {class: "warning"}, `Judging it raised ${episode.error}.`));
  const groups = [...new Set([...(episode.facts || []).map(([group]) => group), ...(episode.gated || [])])];
  for (const group of groups) {
    const facts = episode.facts.filter(([of]) => of === group);
    const judged = facts.filter(([, , state]) => state === "passed" || state === "failed");
    const passed = judged.filter(([, , state]) => state === "passed").length;
    const order = [...facts].sort((a, b) => (a[2] === "failed" ? 0 : 1) - (b[2] === "failed" ? 0 : 1));
    parts.push(el("h5", {}, group, el("small", {}, judged.length ? `${passed} of ${judged.length} passed` : "")),
      el("ul", {class: "facts"}, order.length ? order.map(fact) : el("li", {class: "na"}, "– not evaluated")));
  }
  if (episode.cost !== undefined) {
    const over = episode.budget !== undefined && episode.cost > episode.budget;
    const share = episode.budget ? ` of a budget of ${usd(episode.budget)}` : "";
    parts.push(el("p", {class: over ? "total fail" : "total"}, `Costs ${usd(episode.cost)}${share}`));
  }
  const details = (episode.details || []).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);
  return [...parts, (episode.found || []).map(finding), details.length ? el("dl", {class: "details"}, details) : null].filter(Boolean);
}

function fact([, name, state, message, evidence]) {
  const [sign, kind] = STATES[state] || ["?", "na"];
  const aside = kind === "na" ? `: ${plain(state)}` : "";
  const told = (needed) => Boolean(message && needed && (message.includes(needed) || needed.includes(message)));
  const details = evidence.filter(([day, , , needed]) => (day === null || day === undefined) && !told(needed))
    .map(([, field, found, needed]) => [field ? `${plain(field)}: ` : "", found ? `found “${found}”` : "", needed ? ` needed ${needed}` : ""].join("").trim())
    .filter((words, k, all) => words && all.indexOf(words) === k);
  const days = [...new Set(evidence.map(([day]) => day).filter((day) => day !== null && day !== undefined))];
  return el("li", {class: kind}, `${sign} ${plain(name)}${aside}`, message ? el("small", {}, message) : null, days.length && !message ? el("small", {}, `see day ${days.join(", ")}`) : null,
    details.map((words) => el("small", {}, words)));
}

/** What a verifier found: the trajectory first, then turn by turn, each problem with the card it rests on. */
function finding({call, conclusion, reason, problems}) {
  const title = call === null ? "the whole answer" : `call ${call}`;
  const bad = problems.length > 0 || !/^(very_)?satisfied/.test(conclusion || "");
  return el("div", {class: bad ? "finding broken" : "finding"}, el("p", {}, el("b", {class: bad ? "fail" : "pass"}, `${bad ? "✗" : "✓"} ${title}: ${plain(conclusion || "not judged")}`)),
    reason && bad && !problems.some(([, message]) => message === reason) ? el("p", {class: "aside"}, reason) : null,
    el("ul", {class: "problems"}, problems.map(([kind, message, said, at, row]) => el("li", {}, message || plain(kind), said ? el("q", {}, said) : null, at ? [" ", card(at, row)] : null))));
}

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

// Evidence cards: each names a row of a tool's answer, and opens it.

function card(call, row) {
  return el("button", {type: "button", class: "chip", "data-card": call, "data-at": row || "",
    title: "Show this row of the tool's answer"}, row ? `call ${call}, row ${row}` : `call ${call}`);
}

function answer(episode) {
  return episode.answer.length ? markdown(episode.answer, (node) => card(node.call, node.row))
    : el("p", {class: "none"}, "No answer was given.");
}

/** Opens the call that a card names, beneath the same episode, and lights its row. A card that
 * names nothing says so. */
function follow(chip) {
  const within = chip.closest(".side") || chip.closest(".detail");
  const call = within.querySelector(`details.call[data-call="${Number(chip.dataset.card)}"]`);
  for (const lit of within.querySelectorAll(".lit")) lit.classList.remove("lit");
  if (call) call.unfold();
  const row = call && chip.dataset.at && "rows" in call.dataset
    ? call.querySelector(`tr[data-row="${Number(chip.dataset.at)}"]`)
    : call && call.querySelector("summary");
  if (!row) {
    chip.classList.add("missing");
    chip.textContent = `${chip.textContent.replace(/ ✗.*/, "")} ✗ no such row`;
    return;
  }
  row.classList.add("lit");
  row.scrollIntoView({block: "center"});
  row.focus({preventScroll: true});
}

// Two episodes on the same request, side by side: verdicts that differ, plans field by field or answers line by line, calls in line.

const MOST_ALIGNED = 600; // entries of each list; beyond, the rest counts as different

/** The longest common subsequence of two lists of keys: [[place here or null, place there or null], …]. */
function aligned(left, right) {
  const [a, b] = [left.slice(0, MOST_ALIGNED), right.slice(0, MOST_ALIGNED)];
  const best = Array.from({length: a.length + 1}, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) best[i][j] = a[i] === b[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
  }
  const pairs = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) pairs.push([i++, j++]);
    else if (j === b.length || (i < a.length && best[i + 1][j] >= best[i][j + 1])) pairs.push([i++, null]);
    else pairs.push([null, j++]);
  }
  for (; i < left.length; i++) pairs.push([i, null]);
  for (; j < right.length; j++) pairs.push([null, j]);
  return pairs;
}

function table(kind, heads, rows, label) {
  return el("div", {class: "rows"}, el("table", {class: `diff ${kind}`, "aria-label": label}, el("thead", {}, el("tr", {}, heads.map((head) => el("th", {}, head)))), el("tbody", {}, rows)));
}

function verdictRows(here, there) {
  const states = (episode) => new Map((episode.facts || []).map(([group, name, state, message]) => [`${group}: ${plain(name)}`, [state, message]]));
  const [a, b] = [states(here), states(there)];
  const cell = (found) => {
    const [sign, kind] = found ? STATES[found[0]] || ["?", "na"] : ["–", "na"];
    return el("td", {class: kind}, `${sign} ${found ? plain(found[0]) : "not evaluated"}`, found && found[0] === "failed" && found[1] ? el("small", {}, found[1]) : null);
  };
  const differ = (key) => (a.get(key) || [""])[0] !== (b.get(key) || [""])[0];
  const keys = [...new Set([...a.keys(), ...b.keys()])].sort((x, y) => differ(y) - differ(x));
  return keys.map((key) => el("tr", {class: differ(key) ? "differs" : null}, el("th", {scope: "row"}, key, differ(key) ? el("small", {}, "differs") : null), cell(a.get(key)), cell(b.get(key))));
}

function planRows(here, there) {
  const days = (episode) => new Map((Array.isArray(episode.plan) ? episode.plan : []).map((day, place) => [dayNumber(day, place), day]));
  const [a, b] = [days(here), days(there)];
  return [...new Set([...a.keys(), ...b.keys()])].sort((x, y) => x - y).flatMap((number) => {
    const [left, right] = [a.get(number) || {}, b.get(number) || {}];
    const fields = ["current_city", ...new Set([...dayFields(left), ...dayFields(right)])];
    return fields.map((field) => {
      const [x, y] = [said_(left[field]), said_(right[field])];
      return x || y ? el("tr", {class: x === y ? null : "differs"}, el("th", {scope: "row"}, `Day ${number}, ${field === "current_city" ? "city" : plain(field)}`), el("td", {}, x || "–"), el("td", {}, y || "–")) : null;
    }).filter(Boolean);
  });
}

const answerLines = (episode) => {
  const texts = episode.i.filter((item) => item.k === "a").map((item) => item.t.match(ANSWER)).filter(Boolean);
  return texts.length ? texts.at(-1)[1].trim().split("\n") : [];
};

function answerRows(here, there) {
  const [a, b] = [answerLines(here), answerLines(there)];
  return aligned(a, b).map(([i, j]) => el("tr", {class: i === null || j === null ? "differs" : null}, el("td", {}, i === null ? "" : a[i]), el("td", {}, j === null ? "" : b[j])));
}

/** Calls in line by name and arguments, and the numbers of those that differ on each side. */
function callRows(here, there) {
  const calls = (episode) => episode.i.filter((item) => item.k === "c" && item.f);
  const key = (item) => `${item.f}(${JSON.stringify(Object.entries(item.a || {}).sort())})`;
  const [a, b] = [calls(here), calls(there)];
  const marked = [new Set(), new Set()];
  const cell = (item) => el("td", {}, item ? [`${item.c}. `, el("code", {}, el("b", {}, item.f), `(${argumentsOf(item)})`), item.e ? el("b", {class: "fail"}, " error") : null] : "");
  const rows = aligned(a.map(key), b.map(key)).map(([i, j]) => {
    const [x, y] = [i === null ? null : a[i], j === null ? null : b[j]];
    const differs = !x || !y || x.t !== y.t;
    if (differs && x) marked[0].add(x.c);
    if (differs && y) marked[1].add(y.c);
    const words = x && y ? (differs ? "same call, other answer" : "same") : x ? "only on the left" : "only on the right";
    return el("tr", {class: differs ? "differs" : null}, cell(x), cell(y), el("td", {class: "muted"}, words));
  });
  return {rows, marked};
}

function comparison(i, j, here, there, view) {
  const {rows, marked} = callRows(here, there);
  const heads = () => [i, j].map((k) => [mark(data.verdict[k]), ` ${sourceName(k)}`, el("small", {}, data.id[k])]);
  const title = (name, found) => el("h4", {}, name, found.length ? el("small", {}, `${found.filter((row) => row.classList.contains("differs")).length} of ${found.length} differ`) : null);
  const side = (episode, differs, k) => el("div", {class: "side"}, el("h5", {}, mark(data.verdict[k]), ` ${sourceName(k)}`), conversation(episode, {...view, differs}));
  const words = here.answer || there.answer;
  const came = words ? answerRows(here, there) : planRows(here, there);
  const verdicts = verdictRows(here, there);
  const nothing = (text) => el("p", {class: "none"}, text);
  return [
    title("Verdicts", verdicts), verdicts.length ? table("keyed", ["", ...heads()], verdicts, "Verdicts side by side") : nothing("Neither was judged."),
    title(words ? "Answers, line by line" : "Plans", came),
    came.length ? table(words ? "" : "keyed", words ? heads() : ["", ...heads()], came, words ? "Answers side by side" : "Plans side by side") : nothing("Neither gave one."),
    title("Calls", rows), rows.length ? table("calls", [...heads(), ""], rows, "Calls side by side") : nothing("Neither called a tool."),
    el("h4", {}, "Turns"), el("div", {class: "sides"}, side(here, marked[0], i), side(there, marked[1], j)),
  ];
}

// One episode, or two side by side.

function chips(i, episode) {
  const facts = [...Object.values(request(i)[1]), counted(data.turns[i], "turn"), counted(data.calls[i], "call"),
    data.errors[i] ? counted(data.errors[i], "tool error") : "", data.refused[i] ? counted(data.refused[i], "refused turn") : "",
    data.tokens[i] ? `${counted(data.tokens[i], "token")} written` : "", `stopped by ${data.stops[data.stop[i]]}`, data.cost[i] === null ? "" : `plan costs ${usd(data.cost[i])}`,
    episode && episode.world ? `world ${episode.world}` : ""];
  const usage = Object.entries((episode && episode.usage) || {}).map(([name, value]) => `${plain(name)} ${Number(value.toFixed(2)).toLocaleString("en")}`);
  return el("p", {class: "chips"}, [...facts, ...usage].filter(Boolean).map((fact) => el("span", {}, fact)));
}

function asked(episode) {
  return episode.asked ? el("dl", {class: "asked"}, episode.asked.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))) : null;
}

/** Draws into `box`. `view`: {tokens, words, other}; `acts`: what the buttons do. */
async function drawDetail(box, i, view, acts, current) {
  const [episode, there] = await Promise.all([transcript(i), view.other === null ? null : transcript(view.other)]);
  if (!current()) return; // another one was chosen meanwhile
  const rivals = others(i);
  const pick = el("select", {"aria-label": "Compare with another episode on this request", change: (event) => acts.compare(event.target.value === "" ? null : Number(event.target.value))},
    el("option", {value: ""}, "Compare with …"), rivals.map((k) => el("option", {value: String(k), selected: k === view.other}, `${VERDICTS[data.verdict[k]].sign} ${sourceName(k)} · ${data.id[k]}`)));
  const tokens = el("button", {type: "button", "aria-pressed": String(view.tokens), click: acts.tokens, title: "Key t"}, "Tokens");
  const calls = el("button", {type: "button", click: () => unfoldAll(box, calls)}, "Open all calls");
  const hasTokens = [episode, there].some((each) => each && each.i.some((item) => item.n));
  const link = `#${addressOf(i, view)}`;
  const head = el("div", {class: "head"}, el("p", {class: "title"}, mark(data.verdict[i]), ` ${sourceName(i)} `, el("a", {href: link, title: "The address of this episode"}, data.id[i])),
    el("h3", {tabindex: "-1", id: "episode-request"}, request(i)[0]), chips(i, episode), episode ? asked(episode) : null,
    el("div", {class: "acts"}, rivals.length ? pick : null, hasTokens ? tokens : null, episode ? calls : null));
  box.replaceChildren(head, ...body(i, episode, there, view).flat(Infinity).filter(Boolean));
}

function body(i, episode, there, view) {
  if (!episode) return [notIncluded([i])];
  if (view.other !== null) return there ? comparison(i, view.other, episode, there, view) : [notIncluded([view.other]), ...single(episode, view)];
  return single(episode, view);
}

function single(episode, view) {
  const legend = view.tokens ? el("p", {class: "aside legend"}, "Each token as it was sampled. The darker its ground, the less likely it was; hatched: mask 0, not trained on.") : null;
  return [el("div", {class: "came"}, el("div", {}, el("h4", {}, episode.answer ? "The answer" : "The plan"), episode.answer ? answer(episode) : plan(episode)),
    el("div", {}, el("h4", {}, "Verdict"), verdict(episode))), el("h4", {}, "What the agent did"), legend, el("div", {class: "turns"}, conversation(episode, view))];
}

function notIncluded(episodes) {
  return el("p", {class: "none"}, `The text of ${episodes.map((k) => data.id[k]).join(", ")} is not in this page. `, el("code", {}, data.command), " includes all of them.");
}

function unfoldAll(box, button) {
  const folded = [...box.querySelectorAll("details.call")];
  const open = folded.some((each) => !each.open);
  for (const each of folded) { if (open) each.unfold(); else each.open = false; }
  button.textContent = open ? "Fold all calls" : "Open all calls";
}

function addressOf(i, view) {
  const said = new URLSearchParams({episode: address(i)});
  if (view.other !== null) said.set("with", address(view.other));
  if (view.tokens) said.set("tokens", "1");
  return said.toString();
}

/** Lights the words that were searched for, where the browser can without touching the text. */
function light(box, words) {
  if (!CSS.highlights) return;
  const ranges = [];
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  while (words.length && walker.nextNode()) {
    const text = walker.currentNode.data.toLowerCase();
    for (const word of words) {
      for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
        const range = new Range();
        range.setStart(walker.currentNode, at);
        range.setEnd(walker.currentNode, Math.min(at + word.length, walker.currentNode.data.length));
        ranges.push(range);
      }
    }
  }
  CSS.highlights.set("searched", new Highlight(...ranges));
}

// The episodes that the page opens with: the plan or the answer, and what failed; the whole of each is one press away.

async function drawExample(box) {
  const i = Number(box.dataset.example);
  const episode = await transcript(i);
  const failed = (episode.facts || []).filter(([, , state]) => state === "failed");
  const passed = (episode.facts || []).filter(([, , state]) => state === "passed");
  const away = () => { location.hash = addressOf(i, {other: null, tokens: false}); };
  const came = el("div", {}, el("h4", {}, episode.answer ? "The answer" : "The plan"), episode.answer ? answer(episode) : plan(episode));
  const judged = el("div", {}, el("h4", {}, failed.length ? "What failed" : "The verdict"),
    el("ul", {class: "facts"}, failed.length ? failed.map(fact) : el("li", {class: data.verdict[i] === 1 ? "pass" : "na"}, data.verdict[i] === 1 ? `✓ all ${passed.length} checks passed` : "no check was reached")),
    episode.cost === undefined ? null : el("p", {class: "total"}, `Costs ${usd(episode.cost)}${episode.budget ? ` of a budget of ${usd(episode.budget)}` : ""}`),
    el("p", {}, el("a", {href: `#${addressOf(i, {other: null, tokens: false})}`}, `All ${counted(data.calls[i], "call")}, turn by turn`)));
  came.addEventListener("click", (event) => { if (event.target.closest("[data-card]")) away(); });
  box.append(chips(i, episode), el("div", {class: "came"}, came, judged));
}

if (typeof DecompressionStream === "function") for (const box of document.querySelectorAll("[data-example]")) drawExample(box);

// The parts together: filters above, the list at the left, the episode at the right; keys and addresses.

function makeBrowser(root) {
  const box = el("div", {class: "detail", "aria-live": "off", "aria-label": "The chosen episode", role: "region"}, el("p", {class: "none"}, "Choose an episode."));
  const tally = el("p", {class: "tally", role: "status"});
  const back = el("button", {type: "button", class: "quiet back", click: () => leave()}, "← all episodes");
  const hint = el("p", {class: "keys"}, [["j", "next"], ["k", "previous"], ["/", "search"], ["t", "tokens"], ["Esc", "back"]].map(([key, words]) => [el("kbd", {}, key), ` ${words}  `]));
  const filters = makeFilters(() => refilter());
  const listing = makeListing((i) => open(i));
  const view = {tokens: false, other: null, words: []};
  let shown = null; // the episode on the right
  let asking = 0; // numbers searches and drawings: only the latest counts

  root.append(filters.element, el("div", {class: "panes"}, el("div", {class: "left"}, tally, listing.element, hint), el("div", {class: "right"}, back, box)));
  const against = () => (filters.selects.against && filters.selects.against.value !== "" ? Number(filters.selects.against.value) : null);

  async function refilter() {
    const number = ++asking;
    listing.element.setAttribute("aria-busy", "true");
    await narrow(number);
    if (number === asking) listing.element.setAttribute("aria-busy", "false");
  }

  async function narrow(number) {
    const words = wordsIn(filters.words.value);
    if (filters.selects.outcome) filters.selects.outcome.closest("label").hidden = against() === null;
    filters.words.placeholder = filters.deep.checked ? "words of the whole episode" : "words of the request";
    list(matching(filters, null));
    recount(filters, null);
    view.words = filters.deep.checked ? words : [];
    if (filters.deep.checked && words.length) {
      await new Promise((done) => setTimeout(done, 150)); // while one is still typing
      if (number !== asking) return;
      const said = await holding(words, (share) => { if (number === asking) tally.textContent = `Searching … ${Math.round(100 * share)}%`; }, () => number !== asking);
      if (said === null || number !== asking) return;
      list(matching(filters, said));
      recount(filters, said);
    }
    const other = shown === null || against() === null || against() === data.source[shown] ? null : counterpart(shown, against());
    if (shown !== null && (against() !== null || view.words.length || lit)) { view.other = against() === null ? view.other : other; redraw(); }
  }

  function list(found) {
    listing.show(found, against());
    const count = (verdict) => found.reduce((sum, i) => sum + (data.verdict[i] === verdict), 0);
    const parts = [[1, "passed"], [0, "failed"], [-1, "unscored"]].map(([verdict, words]) => [count(verdict), words]).filter(([n]) => n);
    tally.textContent = found.length ? `${found.length.toLocaleString("en")} of ${counted(total, "episode")}: ${parts.map(([n, words]) => `${n.toLocaleString("en")} ${words}`).join(", ")}`
      : `None of ${counted(total, "episode")}.`;
  }

  let lit = false; // words of an earlier search are still lit
  async function redraw() {
    const number = (redraw.number = (redraw.number || 0) + 1);
    const i = shown;
    await drawDetail(box, i, view, acts, () => number === redraw.number);
    if (number !== redraw.number) return;
    light(box, view.words);
    lit = view.words.length > 0;
    box.dataset.episode = address(i);
  }

  function open(i, asked = {}, moved = true) {
    shown = i;
    view.other = asked.other ?? (against() === null || against() === data.source[i] ? null : counterpart(i, against()));
    view.tokens = asked.tokens ?? view.tokens;
    if (moved) {
      root.classList.add("reading");
      history.replaceState(null, "", `#${addressOf(i, view)}`);
    }
    const top = box.getBoundingClientRect().top;
    if (moved && top < 0) window.scrollBy(0, top - 60); // deep in a long one, the next begins at its beginning
    return redraw();
  }

  const acts = {
    compare: (other) => { view.other = other; history.replaceState(null, "", `#${addressOf(shown, view)}`); redraw(); },
    tokens: () => { view.tokens = !view.tokens; history.replaceState(null, "", `#${addressOf(shown, view)}`); redraw(); },
  };

  function leave() {
    root.classList.remove("reading");
    listing.element.focus();
  }

  /** #episode=…&with=…&tokens=1, of the page's address. True where it named an episode that there is. */
  function visit() {
    const said = new URLSearchParams(location.hash.slice(1));
    const i = addresses.get(said.get("episode") || "");
    if (i === undefined) return false;
    listing.point(i);
    open(i, {other: addresses.get(said.get("with") || "") ?? null, tokens: said.has("tokens")});
    root.scrollIntoView();
    return true;
  }

  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    const writing = event.target.closest("input, textarea, select");
    if (event.key === "Escape" && root.contains(event.target)) {
      if (writing === filters.words) { filters.words.value = ""; refilter(); }
      leave();
    } else if (!writing && event.key === "/") {
      event.preventDefault();
      root.classList.remove("reading");
      filters.words.focus();
      filters.words.select();
    } else if (!writing && (event.key === "j" || event.key === "k")) listing.move(event.key === "j" ? 1 : -1);
    else if (!writing && event.key === "t" && shown !== null) acts.tokens();
  });
  filters.words.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === "ArrowDown") { event.preventDefault(); listing.element.focus(); listing.move(0); } });
  box.addEventListener("click", (event) => { const chip = event.target.closest("[data-card]"); if (chip) follow(chip); });
  window.addEventListener("hashchange", visit);

  root.hidden = false;
  refilter();
  if (!visit()) {
    listing.point(0);
    open(0, {}, false);
  }
}

if (typeof DecompressionStream === "function") {
  document.getElementById("no-script").hidden = true;
  makeBrowser(document.getElementById("browser"));
}
