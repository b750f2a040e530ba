// The viewer of a report: filters above, the list of episodes at the left, the chosen one at the right, alone or beside another on the same request.
// The page holds columns about all episodes, and pieces of packed transcripts that are unpacked when one of theirs is read.

const data = JSON.parse(document.getElementById("episode-columns").textContent);
const total = data.id.length;
const KEPT_PIECES = 8; // unpacked ones that stay in memory
const unpacked = new Map(); // number → promise of its lines

/** The request of an episode in words, and what it is counted under: {level: "easy", days: "3 days"}. */
const request = (i) => data.queries[data.query[i]];
const hasText = (i) => data.piece[i] >= 0;
const sourceName = (i) => data.sources[data.source[i]].name;
const address = (i) => `${data.sources[data.source[i]].key}/${data.id[i]}`;
const addresses = new Map(data.id.map((_, i) => [address(i), i]));

async function unpack(piece) {
  const packed = atob(document.getElementById(`piece-${piece}`).textContent);
  const stream = new Blob([Uint8Array.from(packed, (letter) => letter.charCodeAt(0))]).stream();
  return (await new Response(stream.pipeThrough(new DecompressionStream("gzip"))).text()).split("\n");
}

/** The line of an episode's transcript, or null where the page holds none. */
async function line(i) {
  const piece = data.piece[i];
  if (piece < 0) return null;
  if (!unpacked.has(piece) && unpacked.size >= KEPT_PIECES) unpacked.clear();
  if (!unpacked.has(piece)) unpacked.set(piece, unpack(piece));
  return (await unpacked.get(piece))[data.line[i]];
}

const transcript = async (i) => JSON.parse(await line(i));

/** Those episodes whose text holds every one of the words; `tell` hears the share that was looked at and says whether to go on. */
async function holding(words, tell) {
  const wanted = words.map((word) => JSON.stringify(word).slice(1, -1).toLowerCase());
  const found = new Set();
  const places = data.id.map((_, i) => i).filter(hasText).sort((a, b) => data.piece[a] - data.piece[b]);
  for (const [k, i] of places.entries()) {
    if (!tell(k / places.length)) return null;
    const text = (await line(i)).toLowerCase();
    if (wanted.every((word) => text.includes(word))) found.add(i);
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
const counterpart = (i, source) => (source === data.source[i] ? null : (byRequest[source].get(data.query[i]) || [])[nth[i]] ?? null);
const others = (i) => byRequest.flatMap((there) => there.get(data.query[i]) || []).filter((other) => other !== i);

// What is looked for. Each filter is a select whose options say how many episodes they would leave, beside all that is chosen elsewhere;
// the words are looked for in requests and ids, and on demand in everything that was said.

const LEVELS = ["easy", "medium", "hard"];
const rank = (words) => (LEVELS.includes(words) ? LEVELS.indexOf(words) : parseInt(words) || LEVELS.length); // "3 days" before "10 days"

/** `values`: of an episode; it passes where one of them is chosen. */
const FILTERS = [
  {key: "source", label: "Evaluation", values: (i) => [data.source[i]], words: (s) => data.sources[s].name},
  {key: "verdict", label: "Verdict", values: (i) => [data.verdict[i]], words: (v) => VERDICTS[v].words},
  ...[...new Set(data.queries.flatMap(([, marks]) => Object.keys(marks)))].map((field) => ({key: field, label: field[0].toUpperCase() + field.slice(1), values: (i) => [request(i)[1][field] || "not said"], words: String, sorted: true})),
  {key: "stop", label: "Stopped by", values: (i) => [data.stop[i]], words: String},
  {key: "failed", label: "Fails at", values: (i) => data.failed[i], words: String},
];
const ORDERS = {"as in the files": null, "most turns first": data.turns, "most tokens first": data.tokens, "most tool errors first": data.errors};
const OUTCOMES = {10: "passes only here", "01": "passes only there", 11: "both pass", "00": "neither passes"};

function makeFilters(changed) {
  const selects = {};
  const field = (label, control) => el("label", {class: "filter"}, el("span", {}, label), control);
  const select = (key, label, none, options) => {
    selects[key] = el("select", {change: changed}, none && el("option", {value: ""}, none),
      options.map(([value, words]) => el("option", {value, "data-words": words}, words)));
    return field(label, selects[key]);
  };
  const made = FILTERS.map(({key, label, values, words, sorted}) => {
    const options = [...new Set(data.id.flatMap((_, i) => values(i)))].map((value) => [value, words(value)]);
    if (sorted) options.sort(([a], [b]) => rank(a) - rank(b));
    return options.length > 1 || (options.length && key === "failed") ? select(key, label, "all", options) : null;
  });
  if (data.sources.length > 1) {
    made.push(select("against", "Compare with", "nothing", data.sources.map(({name}, s) => [s, name])), select("outcome", "Outcome", "all", Object.entries(OUTCOMES)));
  }
  made.push(select("order", "Order", null, Object.keys(ORDERS).map((words) => [words, words])));
  const words = el("input", {type: "search", id: "words", placeholder: "words of the request", autocomplete: "off", spellcheck: "false", input: changed});
  const deep = el("input", {type: "checkbox", change: changed});
  const search = el("div", {class: "search"}, field("Search  /", words), el("label", {class: "deep"}, deep, "in everything that was said, too"));
  const chosen = (key) => (selects[key] ? selects[key].value : "");
  return {
    selects, chosen, words, deep, element: el("div", {class: "filters"}, search, made),
    against: () => (chosen("against") === "" ? null : Number(chosen("against"))),
    wanted: () => words.value.toLowerCase().split(/\s+/).filter(Boolean),
  };
}

/** The episodes that pass every filter, in the order asked for; `said` is the set that the words were found in, or null; `without` is the filter that is left out of account. */
function matching(filters, said, without) {
  const asked = FILTERS.filter(({key}) => key !== without && filters.chosen(key) !== "").map(({key, values}) => [values, filters.chosen(key)]);
  const [against, outcome, wanted] = [filters.against(), filters.chosen("outcome"), filters.wanted()];
  const compares = (i) => {
    const other = counterpart(i, against);
    return other !== null && (outcome === "" || `${data.verdict[i]}${data.verdict[other]}` === outcome);
  };
  const named = (i) => wanted.every((word) => request(i)[0].toLowerCase().includes(word) || data.id[i].toLowerCase().includes(word));
  const found = data.id.map((_, i) => i).filter((i) => asked.every(([values, value]) => values(i).some((each) => String(each) === value))
    && (against === null || compares(i)) && (!wanted.length || named(i) || Boolean(said && said.has(i))));
  const by = ORDERS[filters.chosen("order")];
  return by ? found.sort((a, b) => by[b] - by[a] || a - b) : found;
}

/** Writes beside each option how many episodes it would leave. */
function recount(filters, said) {
  for (const {key, values} of FILTERS.filter(({key}) => filters.selects[key])) {
    const counts = new Map();
    for (const value of matching(filters, said, key).flatMap(values)) counts.set(String(value), (counts.get(String(value)) || 0) + 1);
    for (const option of [...filters.selects[key].options].slice(1)) option.textContent = `${option.dataset.words} (${(counts.get(option.value) || 0).toLocaleString("en")})`;
  }
}

// The list of episodes.

const MOST_LISTED = 300; // rows, before one asks for more

function facts(i) {
  const stop = data.stop[i];
  return [...Object.values(request(i)[1]), counted(data.turns[i], "turn"), stop === "answer" ? "" : stop, data.errors[i] ? counted(data.errors[i], "tool error") : "",
    data.refused[i] ? counted(data.refused[i], "refused turn") : "", hasText(i) ? "" : "text not included"].filter(Boolean);
}

function makeListing(chosen) {
  const box = el("div", {class: "listing", role: "listbox", tabindex: "0", "aria-label": "Episodes", id: "listing"});
  const more = el("button", {type: "button", class: "quiet", click: () => { most += MOST_LISTED; draw(); }}, "Show more");
  let [found, at, against, most] = [[], -1, null, MOST_LISTED]; // `at`: place of the chosen one

  function row(i, place) {
    const other = against === null ? null : counterpart(i, against);
    const sign = (k, kind) => el("b", {class: `${kind} ${VERDICTS[data.verdict[k]].kind}`, "aria-label": VERDICTS[data.verdict[k]].words}, VERDICTS[data.verdict[k]].sign);
    return el("div", {class: place === at ? "row chosen" : "row", role: "option", id: `row-${place}`, "aria-selected": String(place === at), click: () => choose(place)},
      sign(i, "sign"), other === null ? null : sign(other, "sign there"), el("span", {class: "words"}, request(i)[0]),
      el("small", {}, el("span", {class: "from"}, sourceName(i)), facts(i).map((fact) => ` · ${fact}`)));
  }

  function draw() {
    more.hidden = found.length <= most;
    box.replaceChildren(...(found.length ? found.slice(0, most).map(row) : [el("p", {class: "none"}, "No episode is left by these filters.")]));
  }

  function choose(place, quietly) {
    if (!found.length) return;
    at = Math.max(0, Math.min(found.length - 1, place));
    most = Math.max(most, at + 1);
    draw();
    const {offsetTop: top, offsetHeight: height} = box.children[at];
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + height > box.scrollTop + box.clientHeight) box.scrollTop = top + height - box.clientHeight;
    box.setAttribute("aria-activedescendant", `row-${at}`);
    if (!quietly) chosen(found[at]);
  }

  function show(episodes, compared) {
    const was = found[at];
    [found, against, at] = [episodes, compared, episodes.indexOf(was)];
    if (at < 0) box.scrollTop = 0;
    box.removeAttribute("aria-activedescendant");
    if (at >= 0) choose(at, true);
    else draw();
  }

  box.addEventListener("keydown", (event) => {
    const to = {ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 8, PageUp: at - 8, Home: 0, End: found.length - 1, Enter: at}[event.key];
    if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    choose(to);
  });
  /** Marks an episode that was reached by its address; it may be filtered out. */
  const point = (i) => { if (found.includes(i)) choose(found.indexOf(i), true); else { at = -1; draw(); } };
  return {element: box, more, show, point, move: (by) => choose(at + by)};
}

// What the agent did, message by message: prompts and tool answers folded, errors and refused turns marked, tokens on demand.

const CALL = /<tool_call>[^]*?(?:<\/tool_call>|$)/g;
const ANSWER = /<answer>([^]*?)(?:<\/answer>|$)/;
const SPECIAL = /<\|[a-z_]+\|>/g;
const MOST_ROWS = 200; // of a tool's table, before one asks for the rest
const DARKEST = 3; // nats: a token that was this unlikely is shaded fully

const length = (text) => el("small", {}, `${text.length.toLocaleString("en")} characters`);
const tokensOf = ({count, trained}) => `${counted(count, "token")}, ${trained === count ? "all trained on" : trained ? `${trained} trained on` : "not trained on"}`;
const holds = (text, view) => Boolean(view.words.length && view.words.every((word) => text.toLowerCase().includes(word)));
const folded = (title, text, view, kind = "prompt") => fold(kind, [el("span", {class: "who"}, title), length(text)], () => el("pre", {}, text), kind !== "prompt" && holds(text, view));
const argumentsOf = (call) => Object.entries(call.arguments).map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(", ");
const callKey = (call) => `${call.name}(${argumentsOf(call)}) ${call.result}`;

/** `view`: {tokens: whether to show them, words: what was searched for, theirs: the calls of the episode beside it}. */
function conversation(episode, view) {
  const last = episode.turns.findLastIndex((turn) => turn.role === "assistant");
  const ended = ["answer", "unscored", null].includes(episode.stop) ? null : episode.stop;
  const said = (turns) => turns.filter((turn) => turn.role === "assistant").length;
  return episode.turns.map((turn, place) => message(turn, view, place === last ? ended : null, turn.from ? said(episode.turns.slice(0, turn.from)) : 0));
}

/** `gone`: how many of the first turns had left its context. */
function message(turn, view, ended, gone) {
  const tokens = view.tokens && turn.tokens;
  if (turn.role !== "assistant") {
    const text = turn.role === "system" ? data.prompts[turn.text] : turn.text;
    return [text && folded(turn.role === "tool" ? "the agent was shown" : turn.role, text, view), tokens && el("p", {class: "aside"}, `${turn.role}: ${tokensOf(tokens)}`)];
  }
  const problem = turn.problem ? `refused: ${plain(turn.problem)}` : ended ? `the episode ended here: ${plain(ended)}` : "";
  const text = turn.text.replace(SPECIAL, "");
  const answered = text.match(ANSWER);
  const prose = (turn.call ? text.replace(CALL, "") : text).replace(ANSWER, "").trim();
  const said = prose || (answered || turn.call ? "" : "(said nothing)");
  return el("div", {class: problem ? "turn broken" : "turn"},
    problem && el("p", {class: "refused"}, `✗ ${problem}`),
    gone > 0 && el("p", {class: "muted"}, `without the first ${counted(gone, "turn")}, for which the context had no room any more`),
    tokens ? tokenView(turn) : [said && el("p", {class: "said"}, said), answered && folded("answer", answered[1].trim(), view, "answer")],
    turn.call && callOf(turn.call, view));
}

function callOf(call, view) {
  const kind = ["call", call.error || call.fault ? "failed" : "", view.theirs && !view.theirs.has(callKey(call)) ? "differs" : ""].filter(Boolean).join(" ");
  const wrong = (words) => el("b", {class: "fail"}, ` ${words}`);
  const summary = [el("span", {class: "number"}, `${call.number}. `), el("code", {}, el("b", {}, call.name), `(${argumentsOf(call)})`), call.error && wrong("error"),
    call.fault && wrong(`made to fail: ${call.fault}`), length(call.result)];
  const values = call.rows && call.rows.values;
  const made = fold(kind, summary, () => (values ? [rowsOf(call.rows), folded("as text", call.result, view)] : el("pre", {}, call.result)), holds(call.result, view));
  made.dataset.call = call.number;
  return made;
}

/** The rows that the agent was shown, as a table that numbers them. */
function rowsOf({fields, values, first = 1, total = 0}) {
  const cell = (value) => el("td", {}, value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));
  const body = el("tbody", {});
  const draw = (from, to) => body.append(...values.slice(from, to).map((row, k) => el("tr", {"data-row": first + from + k, tabindex: "-1"},
    el("td", {class: "number"}, String(first + from + k)), row.map(cell))));
  draw(0, MOST_ROWS);
  const left = values.length - MOST_ROWS;
  const more = left > 0 && el("button", {type: "button", class: "quiet", click: () => { draw(MOST_ROWS, values.length); more.remove(); }}, counted(left, "more row"));
  const table = el("table", {}, el("thead", {}, el("tr", {}, el("th", {}), fields.map((name) => el("th", {}, plain(name))))), body);
  return [el("div", {class: "rows"}, table), more, total > values.length && el("p", {class: "aside"}, `of ${counted(total, "row")} in all`)].filter(Boolean);
}

/** Each token on ground that is darker the less likely it was; hatched where its mask is 0. Without words, cells stand for the tokens. */
function tokenView(turn) {
  const {count, mask, logprobs, words} = turn.tokens;
  const tokens = Array.from({length: count}, (_, k) => {
    const p = logprobs ? logprobs[k] : null;
    const trained = mask[k] ? "trained on" : "not trained on";
    const odds = p === null ? "" : `log-probability ${p.toFixed(2)}, probability ${(100 * Math.exp(p)).toFixed(1)}%`;
    const made = el("span", {class: mask[k] ? "tok" : "tok out", title: [`token ${k + 1}`, odds, trained].filter(Boolean).join("\n")}, words ? words[k] || "\u200b" : " ");
    made.style.setProperty("--doubt", Math.min(1, -(p || 0) / DARKEST).toFixed(2));
    return made;
  });
  const mean = logprobs ? ` · mean log-probability ${(logprobs.reduce((a, b) => a + b, 0) / count).toFixed(3)}` : "";
  return el("div", {class: "tokenview"}, el("p", {class: "aside"}, tokensOf(turn.tokens), mean), el("div", {class: words ? "toks" : "toks cells"}, tokens),
    !words && el("pre", {}, turn.text));
}

// What came out: the plan day by day with what is wrong beside it, or the answer in words; and the verdict, what failed first.

const FIELDS = ["transportation", "breakfast", "attraction", "lunch", "dinner", "accommodation"];
const WAYS = ["flight", "self-driving", "taxi"];
const ABOUT_DAY = ["day", "days", "current_city", "city"];
const STATES = {passed: ["✓", "pass"], failed: ["✗", "fail"], not_applicable: ["–", "na"], not_evaluated: ["–", "na"]};

/** A value of a plan as text. */
function valueText(value) {
  if (value === null || value === undefined || value === "-") return "";
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) return value.map(valueText).join("\n");
  return value.from && value.to ? `${value.from} → ${value.to}` : Object.entries(value).map(([name, part]) => `${plain(name)} ${valueText(part)}`).join(", ");
}

const failedFacts = (episode) => (episode.verdict ? episode.verdict.groups.flatMap(({facts}) => facts || []).filter(({state}) => state === "failed") : []);

/** What is wrong on a day in a field, from the evidence of what failed; `field` null: with the day as a whole. */
const remarks = (episode, number, fields) => failedFacts(episode).flatMap(({title, evidence = []}) => evidence.filter(({day, field}) => day === number && fields.includes(field))
  .map(({needed}) => el("dd", {class: "wrong"}, `✗ ${title}${needed ? `: needed ${needed}` : ""}`)));

/** `other`: the episode beside it; fields that differ from its plan's are marked. */
function plan(episode, other) {
  if (!episode.plan) return el("p", {class: "none"}, episode.verdict && episode.verdict.problem ? `No plan: ${episode.verdict.problem}` : "No plan was delivered.");
  if (!Array.isArray(episode.plan) || episode.plan.some((day) => !day || typeof day !== "object")) return el("pre", {}, valueText(episode.plan));
  const spent = (number, field) => ((episode.verdict && episode.verdict.details && episode.verdict.details.costs) || [])
    .filter(({day, kind}) => day === number && (!field || (WAYS.includes(kind) ? "transportation" : kind) === field)).reduce((sum, {total_usd}) => sum + total_usd, 0);
  const cost = (amount) => amount > 0 && el("span", {class: "cost"}, usd(amount));
  return el("div", {class: "days"}, episode.plan.map((day, place) => {
    const number = Number(day.days ?? day.day ?? place + 1);
    const theirs = other && Array.isArray(other.plan) ? other.plan[place] || {} : day;
    const fields = [...new Set([...FIELDS.filter((field) => field in day), ...Object.keys(day)])].filter((field) => !ABOUT_DAY.includes(field));
    const rows = fields.map((field) => {
      const [text, wrong] = [valueText(day[field]), remarks(episode, number, [field])];
      const pieces = text.split(";").map((piece) => piece.trim()).filter(Boolean).join("\n");
      return (text || wrong.length > 0) && [el("dt", {}, plain(field)), el("dd", {class: text === valueText(theirs[field]) ? null : "differs"}, el("span", {}, pieces || "nothing"), cost(spent(number, field))), wrong];
    });
    const list = el("dl", {}, remarks(episode, number, [null, "current_city"]), rows);
    return el("div", {class: list.querySelector(".wrong") ? "day broken" : "day"}, el("h5", {}, el("b", {}, `Day ${number}`), el("span", {}, valueText(day.current_city ?? day.city)), cost(spent(number))), list);
  }));
}

function verdict(episode) {
  const {verdict: judged, budget} = episode;
  const warnings = [episode.fault && `Unscored: ${episode.fault}`, judged && judged.problem && episode.plan && `The plan could not be read whole: ${judged.problem}`,
    judged && judged.error && `Judging it raised ${judged.error}.`].filter(Boolean).map((words) => el("p", {class: "warning"}, words));
  const groups = (judged ? judged.groups : []).map(({name, facts}) => {
    const states = (facts || []).map(({state}) => state);
    const judgedCount = states.filter((state) => state === "passed" || state === "failed").length;
    const order = [...(facts || [])].sort((a, b) => (b.state === "failed") - (a.state === "failed"));
    return [el("h5", {}, name, judgedCount > 0 && el("small", {}, `${states.filter((state) => state === "passed").length} of ${judgedCount} passed`)),
      el("ul", {class: "facts"}, facts ? order.map(fact) : el("li", {class: "na"}, "– not evaluated"))];
  });
  const found = episode.verifier ? [episode.verifier.trajectory, ...(episode.verifier.turns || [])].filter(Boolean) : [];
  const noted = Object.entries(episode.noted || {}).filter(([, value]) => value !== null && value !== "").map(([name, value]) => [el("dt", {}, plain(name)), el("dd", {}, valueText(value))]);
  return [warnings, groups, totalCost(judged, budget), found.map(finding), noted.length > 0 && el("dl", {class: "details"}, noted)];
}

function totalCost(judged, budget) {
  const cost = judged && judged.details ? judged.details.total_cost : undefined;
  if (typeof cost !== "number") return null;
  return el("p", {class: budget && cost > budget ? "total fail" : "total"}, `Costs ${usd(cost)}${budget ? ` of a budget of ${usd(budget)}` : ""}`);
}

function fact({title, state, message, evidence = []}) {
  const [sign, kind] = STATES[state];
  const told = evidence.map(({day, field, found, needed}) => [day ? `day ${day}` : "", field ? plain(field) : "", found ? `found “${found}”` : "", needed ? `needed ${needed}` : ""].filter(Boolean).join(", "));
  return el("li", {class: kind}, `${sign} ${title}${kind === "na" ? `: ${plain(state)}` : ""}`, [message, ...told].filter(Boolean).map((words) => el("small", {}, words)));
}

/** What a verifier found, of the trajectory or of a turn: each problem with the card it rests on. */
function finding({call, conclusion, reason, problems}) {
  const bad = (problems || []).length > 0 || !/^(very_)?satisfied/.test(conclusion || "");
  return el("div", {class: bad ? "finding broken" : "finding"},
    el("p", {}, el("b", {class: bad ? "fail" : "pass"}, `${bad ? "✗" : "✓"} ${call ? `call ${call}` : "the whole answer"}: ${plain(conclusion || "not judged")}`)), bad && reason && el("p", {class: "aside"}, reason),
    el("ul", {class: "problems"}, (problems || []).map((each) => el("li", {}, each.message || plain(each.kind), each.said && el("q", {}, each.said), each.call && [" ", card(each)]))));
}

const CARD = /\[call\s*(\d+)\s*,?\s*row\s*(\d+)\]/i;

/** The tree that Python made of an answer's markdown; "[call 2, row 1]" becomes an evidence card (row D11). */
function markdown(node) {
  if (typeof node === "string") return node.split(CARD).map((part, k, parts) => (k % 3 === 0 ? part : k % 3 === 1 ? card({call: part, row: parts[k + 1]}) : null));
  const literal = ["code", "pre"].includes(node.tag);
  return el(node.tag, {start: node.start}, literal ? node.children : node.children.map(markdown));
}

/** An evidence card names a row of a tool's answer, and opens it. */
const card = ({call, row}) => el("button", {type: "button", class: "chip", "data-card": call, "data-at": row, title: "Show this row of the tool's answer"}, `call ${call}${row ? `, row ${row}` : ""}`);

/** Opens the call that a card names, beneath the same episode, and lights its row. A card that names nothing says so. */
function follow(chip) {
  const within = chip.closest(".side") || chip.closest(".detail");
  const call = within.querySelector(`details.call[data-call="${Number(chip.dataset.card)}"]`);
  for (const lit of within.querySelectorAll(".lit")) lit.classList.remove("lit");
  if (call) call.unfold();
  const row = call && call.querySelector(chip.dataset.at ? `tr[data-row="${Number(chip.dataset.at)}"]` : "summary");
  if (!row) {
    chip.classList.add("missing");
    chip.textContent = `${chip.textContent.replace(/ ✗.*/, "")} ✗ no such row`;
    return;
  }
  row.classList.add("lit");
  row.scrollIntoView({block: "center"});
  row.focus({preventScroll: true});
}

// One episode, or two side by side.

function outcome(episode, other) {
  const words = episode.answer;
  return [el("h4", {}, words ? "The answer" : "The plan"), !words ? plan(episode, other) : words.length ? el("div", {class: "md"}, words.map(markdown)) : el("p", {class: "none"}, "No answer was given.")];
}

const single = (episode, view) => [el("div", {class: "came"}, el("div", {}, outcome(episode)), el("div", {}, el("h4", {}, "Verdict"), verdict(episode))),
  el("h4", {}, "What the agent did"), el("div", {class: "turns"}, conversation(episode, view))];

/** Verdicts in one table, those that differ first; then each episode, with the calls and fields that the other does not have marked. */
function comparison(i, j, here, there, view) {
  const states = (episode) => new Map((episode.verdict ? episode.verdict.groups : []).flatMap(({name, facts}) => (facts || []).map((each) => [`${name}: ${each.title}`, each])));
  const [a, b] = [states(here), states(there)];
  const state = (facts, key) => (facts.has(key) ? facts.get(key).state : "not_evaluated");
  const differ = (key) => state(a, key) !== state(b, key);
  const cell = (facts, key) => el("td", {class: STATES[state(facts, key)][1]}, `${STATES[state(facts, key)][0]} ${plain(state(facts, key))}`, facts.has(key) && facts.get(key).message && el("small", {}, facts.get(key).message));
  const rows = [...new Set([...a.keys(), ...b.keys()])].sort((x, y) => differ(y) - differ(x))
    .map((key) => el("tr", {class: differ(key) ? "differs" : null}, el("th", {scope: "row"}, key, differ(key) && el("small", {}, "differs")), cell(a, key), cell(b, key)));
  const title = (k) => [mark(data.verdict[k]), ` ${sourceName(k)}`];
  const heads = [i, j].map((k) => el("th", {}, title(k), el("small", {}, data.id[k])));
  const calls = (episode) => new Set(episode.turns.filter(({call}) => call).map(({call}) => callKey(call)));
  const side = (episode, other, k) => el("div", {class: "side"}, el("h5", {}, title(k)), outcome(episode, other), totalCost(episode.verdict, episode.budget), conversation(episode, {...view, theirs: calls(other)}));
  return [el("h4", {}, "Verdicts"),
    rows.length ? el("div", {class: "rows"}, el("table", {class: "diff", "aria-label": "Verdicts side by side"}, el("thead", {}, el("tr", {}, el("th", {}), heads)), el("tbody", {}, rows))) : el("p", {class: "none"}, "Neither was judged."),
    el("div", {class: "sides"}, side(here, there, i), side(there, here, j))];
}

function chips(i, episode) {
  const usage = Object.entries((episode && episode.usage) || {}).map(([name, value]) => `${plain(name)} ${Number(value.toFixed(2)).toLocaleString("en")}`);
  const all = [...facts(i), counted(data.calls[i], "call"), data.tokens[i] ? `${counted(data.tokens[i], "token")} written` : "", data.cost[i] === null ? "" : `plan costs ${usd(data.cost[i])}`,
    episode && episode.world ? `world ${episode.world}` : "", ...usage];
  return el("p", {class: "chips"}, all.filter(Boolean).map((words) => el("span", {}, words)));
}

const notIncluded = (i) => el("p", {class: "none"}, `The text of ${data.id[i]} is not in this page. `, el("code", {}, data.command), " includes all.");

/** Draws into `box`. `view`: {tokens, words, other}; `acts`: what the buttons do. */
async function drawDetail(box, i, view, acts, current) {
  const [episode, there] = await Promise.all([transcript(i), view.other === null ? null : transcript(view.other)]);
  if (!current()) return; // another one was chosen meanwhile
  const rivals = others(i);
  const pick = el("select", {"aria-label": "Compare with another episode on this request", change: (event) => acts.compare(event.target.value === "" ? null : Number(event.target.value))},
    el("option", {value: ""}, "Compare with …"), rivals.map((k) => el("option", {value: String(k), selected: k === view.other}, `${VERDICTS[data.verdict[k]].sign} ${sourceName(k)} · ${data.id[k]}`)));
  const tokens = el("button", {type: "button", "aria-pressed": String(view.tokens), click: acts.tokens, title: "Key t"}, "Tokens");
  const calls = el("button", {type: "button", click: () => { for (const each of box.querySelectorAll("details.call")) each.unfold(); }}, "Open all calls");
  const hasTokens = [episode, there].some((each) => each && each.turns.some((turn) => turn.tokens));
  const asked = episode && episode.asked.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)));
  const head = el("div", {class: "head"}, el("p", {class: "title"}, mark(data.verdict[i]), ` ${sourceName(i)} `, el("a", {href: `#${addressOf(i, view)}`, title: "The address of this episode"}, data.id[i])),
    el("h3", {}, request(i)[0]), chips(i, episode), asked && el("dl", {class: "asked"}, asked), el("div", {class: "acts"}, rivals.length > 0 && pick, hasTokens && tokens, episode && calls));
  const legend = view.tokens && el("p", {class: "aside"}, "Each token as it was sampled. The darker its ground, the less likely it was; hatched: mask 0, not trained on. "
    + "Cells without words need the model's tokenizer.json in the run folder, and the 'train' extra where the report is made.");
  const body = !episode ? notIncluded(i) : view.other === null ? single(episode, view) : there ? comparison(i, view.other, episode, there, view) : [notIncluded(view.other), single(episode, view)];
  box.replaceChildren(el("div", {}, head, legend, body));
}

function addressOf(i, view) {
  const said = new URLSearchParams({episode: address(i)});
  if (view.other !== null) said.set("with", address(view.other));
  if (view.tokens) said.set("tokens", "1");
  return said.toString();
}

// The episodes that the page opens with: the plan or the answer, and what failed; the whole of each is one press away.

async function drawExample(box) {
  const i = Number(box.dataset.example);
  const episode = await transcript(i);
  const failed = failedFacts(episode);
  const address = `#${addressOf(i, {other: null, tokens: false})}`;
  const came = el("div", {click: (event) => { if (event.target.closest("[data-card]")) location.hash = address; }}, outcome(episode));
  const judged = el("div", {}, el("h4", {}, failed.length ? "What failed" : "The verdict"),
    el("ul", {class: "facts"}, failed.length ? failed.map(fact) : el("li", {class: VERDICTS[data.verdict[i]].kind}, data.verdict[i] === 1 ? "✓ all checks passed" : "no check was reached")),
    totalCost(episode.verdict, episode.budget), el("p", {}, el("a", {href: address}, `All ${counted(data.calls[i], "call")}, turn by turn`)));
  box.append(chips(i, episode), el("div", {class: "came"}, came, judged));
}

// The parts together; keys and addresses.

const KEYS = {j: "next", k: "previous", "/": "search", t: "tokens", Esc: "back"};

function makeBrowser(root) {
  const box = el("div", {class: "detail", "aria-label": "The chosen episode", role: "region"}, el("p", {class: "none"}, "Choose an episode."));
  const tally = el("p", {class: "tally", role: "status"});
  const hint = el("p", {class: "keys"}, Object.entries(KEYS).map(([key, words]) => [el("kbd", {}, key), ` ${words}  `]));
  const filters = makeFilters(() => refilter());
  const listing = makeListing((i) => open(i));
  const view = {tokens: false, other: null, words: []};
  let shown = null; // the episode on the right
  let [searches, drawings] = [0, 0]; // only the latest counts

  root.append(filters.element, el("div", {class: "panes"}, el("div", {class: "left"}, tally, listing.element, listing.more, hint),
    el("div", {class: "right"}, el("button", {type: "button", class: "quiet back", click: () => leave()}, "← all episodes"), box)));

  async function refilter() {
    const number = ++searches;
    listing.element.setAttribute("aria-busy", "true");
    const [words, against] = [filters.wanted(), filters.against()];
    if (filters.selects.outcome) filters.selects.outcome.closest("label").hidden = against === null;
    view.words = filters.deep.checked ? words : [];
    list(null);
    if (view.words.length) {
      await new Promise((done) => setTimeout(done, 150)); // while one is still typing
      const said = await holding(words, (share) => { if (number === searches) tally.textContent = `Searching … ${Math.round(100 * share)}%`; return number === searches; });
      if (number !== searches) return;
      list(said);
    }
    listing.element.setAttribute("aria-busy", "false");
    if (shown !== null && (against !== null || view.words.length)) { view.other = against === null ? view.other : counterpart(shown, against); redraw(); }
  }

  function list(said) {
    const found = matching(filters, said);
    listing.show(found, filters.against());
    recount(filters, said);
    const counts = [1, 0, -1].map((verdict) => [found.filter((i) => data.verdict[i] === verdict).length, VERDICTS[verdict].words]).filter(([n]) => n);
    tally.textContent = found.length ? `${found.length.toLocaleString("en")} of ${counted(total, "episode")}: ${counts.map(([n, words]) => `${n.toLocaleString("en")} ${words}`).join(", ")}`
      : `None of ${counted(total, "episode")}.`;
  }

  async function redraw(moved = true) {
    const [number, i] = [++drawings, shown];
    if (moved) history.replaceState(null, "", `#${addressOf(i, view)}`);
    await drawDetail(box, i, view, acts, () => number === drawings);
    if (number === drawings) box.dataset.episode = address(i);
  }

  const acts = {
    compare: (other) => { view.other = other; redraw(); },
    tokens: () => { view.tokens = !view.tokens; redraw(); },
  };

  function open(i, asked = {}, moved = true) {
    shown = i;
    view.other = asked.other ?? (filters.against() === null ? null : counterpart(i, filters.against()));
    view.tokens = asked.tokens ?? view.tokens;
    if (moved) root.classList.add("reading");
    const top = box.getBoundingClientRect().top;
    if (moved && top < 0) window.scrollBy(0, top - 60); // deep in a long one, the next begins at its beginning
    redraw(moved);
  }

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
    open(i, {other: addresses.get(said.get("with") || ""), tokens: said.has("tokens")});
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
  filters.words.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); listing.element.focus(); listing.move(0); } });
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
  document.querySelectorAll("[data-example]").forEach(drawExample);
  makeBrowser(document.getElementById("browser"));
}
