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
