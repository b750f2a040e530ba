// The labelling page: who labels, which trip is shown, what the keys do. Drawing is in draw.js, saving in saving.js.

import {call, dimension, mark, reading, toggleRow} from "./draw.js";
import {Saver} from "./saving.js";

const SLOW_SECONDS = 200; // A.5: a clear answer comes within 200 s
const KEYS = [["1 – 9", "TRUE, then FALSE, for that dimension"], ["j, k", "next and previous trip"], ["u", "next trip that is still open"],
  ["/", "search the tool answers; selected words are taken along"], ["f", "open or fold all tool calls"], ["n", "write a note"],
  ["c", "show or hide the criteria"], ["Delete", "take back the answer that has the focus; so does another click on it"], ["Esc", "leave a field, end a search"], ["?", "this help"]];

const $ = (id) => document.getElementById(id);
const state = {study: null, rater: "", order: [], labels: new Map(), at: 0, items: new Map()};
const saver = new Saver((words, wrong) => { $("saved").textContent = words; $("saved").classList.toggle("wrong", wrong); });

async function get(path) {
  const answer = await fetch(path, {cache: "no-store"});
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.detail || `The server answered ${answer.status}.`);
  return found;
}

function remembered(name, value) { // a browser may forbid storage: then nothing is remembered
  try {
    if (value === undefined) return localStorage.getItem(name);
    localStorage.setItem(name, value);
  } catch (error) { /* not needed */ }
  return null;
}

async function start() {
  state.study = await get("api/study");
  const many = state.study.dimensions.length;
  $("about").textContent = `${state.study.items} trips, ${many} questions each, answered TRUE or FALSE.`;
  $("name").value = remembered("tripwright-rater") || "";
  $("dimensions").append(...state.study.dimensions.map((found, i) => dimension(found, i + 1, (value) => choose(found.key, value))));
  $("all-criteria").append(...state.study.dimensions.map((found) => el("tr", {}, el("th", {scope: "row"}, found.name), el("td", {}, found.true), el("td", {}, found.false))));
  $("keys").append(...KEYS.map(([key, words]) => el("tr", {}, el("td", {}, el("span", {class: "key"}, key.replace("9", many))), el("td", {}, words))));
  showCriteria(remembered("tripwright-criteria") === "yes");
  welcome();
}

function welcome() {
  $("work").hidden = true;
  $("welcome").hidden = false;
  $("name").focus();
}

async function enter(name) {
  const found = await get(`api/rater?name=${encodeURIComponent(name)}`);
  remembered("tripwright-rater", name.trim());
  Object.assign(state, {rater: found.rater, order: found.order, labels: new Map(Object.entries(found.labels))});
  $("rater").textContent = found.rater;
  $("welcome").hidden = true;
  $("work").hidden = false;
  $("reading").focus({preventScroll: true}); // else the hidden name field still hears the first keys
  const first = state.order.findIndex((item) => !isDone(item));
  await show(first < 0 ? 0 : first);
}

function labelOf(item) { return state.labels.get(item) || {values: {}, note: ""}; }
function isDone(item) { return Object.keys(labelOf(item).values).length === state.study.dimensions.length; }
function current() { return state.order[state.at]; }

async function load(item) {
  if (!state.items.has(item)) state.items.set(item, await get(`api/items/${encodeURIComponent(item)}`));
  return state.items.get(item);
}

async function show(at) {
  if (at < 0 || at >= state.order.length) return;
  state.at = at;
  const name = current();
  const item = await load(name);
  if (current() !== name) return; // somebody went on while it was loading
  $("reading").replaceChildren(...reading(item, SLOW_SECONDS));
  $("calls").replaceChildren(...(item.calls.length ? item.calls.map(call) : [el("p", {class: "none"}, "No tool was called.")]));
  $("search").value = "";
  $("hits").textContent = "";
  $("back").hidden = true;
  nameFold();
  $("note").value = labelOf(name).note;
  for (const pane of ["reading", "evidence", "labels"]) $(pane).scrollTo({top: 0, behavior: "instant"});
  window.scrollTo({top: 0, behavior: "instant"});
  drawLabels();
  if (at + 1 < state.order.length) load(state.order[at + 1]).catch(() => {});
}

function drawLabels() {
  const {values} = labelOf(current());
  for (const input of $("dimensions").querySelectorAll("input")) input.checked = String(values[input.name]) === input.value;
  const done = state.order.filter(isDone).length;
  $("bar").max = state.order.length;
  $("bar").value = done;
  $("done").textContent = done === state.order.length ? "All done. Thank you!" : `${done} of ${state.order.length} done`;
  $("place").textContent = `Trip ${state.at + 1} of ${state.order.length}`;
  $("count").textContent = `${Object.keys(values).length}/${state.study.dimensions.length}`;
  $("previous").disabled = state.at === 0;
  $("next").disabled = state.at === state.order.length - 1;
  $("undone").disabled = !state.order.some((item) => item !== current() && !isDone(item));
}

function keep(changed, wait) {
  const label = {...labelOf(current()), ...changed};
  state.labels.set(current(), label);
  saver.put({item: current(), rater: state.rater, values: label.values, note: label.note}, wait);
  drawLabels();
}

function choose(key, value) {
  const values = {...labelOf(current()).values};
  if (value === null) delete values[key]; else values[key] = value;
  keep({values});
}

function toggle(number) {
  const found = state.study.dimensions[number - 1];
  if (!found) return;
  choose(found.key, !labelOf(current()).values[found.key]);
  const field = document.querySelector(`fieldset[data-key="${CSS.escape(found.key)}"]`);
  field.scrollIntoView({block: "nearest"});
}

function nextOpen() {
  const places = [...state.order.keys()];
  const found = [...places.slice(state.at + 1), ...places.slice(0, state.at)].find((place) => !isDone(state.order[place]));
  if (found !== undefined) show(found);
}

function columnsOf(row) { return [...row.closest("table").querySelectorAll("thead th")].slice(1).map((cell) => cell.textContent); }

function openCard(chip) {
  search("");
  $("search").value = "";
  const {call: number, row} = chip.dataset;
  const details = $("calls").querySelector(`details[data-call="${number}"]`);
  if (!details) return;
  details.open = true;
  nameFold();
  for (const lit of $("calls").querySelectorAll(".lit")) { lit.classList.remove("lit"); toggleRow(lit, [], false); }
  const found = details.querySelector(`tr[data-row="${row}"]`);
  if (found) {
    found.classList.add("lit");
    toggleRow(found, columnsOf(found), true);
  }
  (found || details).scrollIntoView({block: "center"});
  (found ? found.querySelector("button") : details.querySelector("summary")).focus({preventScroll: true});
  state.chip = chip;
  $("back").hidden = !window.matchMedia("(max-width: 760px)").matches;
}

function search(said) {
  const words = said.toLowerCase().split(/\s+/).filter(Boolean);
  let hits = 0;
  let calls = 0;
  for (const whole of $("calls").querySelectorAll("tr.whole")) if (words.length) toggleRow(whole.previousElementSibling, [], false);
  for (const details of $("calls").querySelectorAll("details")) {
    const head = details.querySelector("summary").textContent.toLowerCase();
    const asked = words.length > 0 && words.every((word) => head.includes(word));
    let here = 0;
    for (const row of details.querySelectorAll("tbody tr[data-row]")) {
      const cells = [...row.cells].slice(1);
      const text = cells.map((cell) => cell.textContent).join(" ").toLowerCase();
      const hit = words.every((word) => text.includes(word));
      row.hidden = !hit && !asked;
      cells.forEach((cell) => mark(cell, hit ? words : []));
      here += hit ? 1 : 0;
    }
    for (const text of details.querySelectorAll("pre, .rest")) {
      const hit = words.length > 0 && words.every((word) => text.textContent.toLowerCase().includes(word));
      mark(text, hit ? words : []);
      here += hit ? 1 : 0;
    }
    details.hidden = words.length > 0 && !here && !asked;
    if (words.length && here) details.open = true;
    hits += here;
    calls += here ? 1 : 0;
  }
  $("hits").textContent = words.length ? (hits ? `${hits} in ${calls} ${calls === 1 ? "call" : "calls"}` : "Nowhere in the tool answers.") : "";
  nameFold();
}

function nameFold() {
  const all = [...$("calls").querySelectorAll("details")];
  $("fold").textContent = all.length && all.every((details) => details.open) ? "Fold all" : "Open all";
  $("fold").hidden = !all.length;
}

function foldAll() {
  const all = [...$("calls").querySelectorAll("details")];
  const open = !all.every((details) => details.open);
  for (const details of all) details.open = open;
  nameFold();
}

function showCriteria(yes) {
  $("labels").classList.toggle("with-criteria", yes);
  $("criteria").setAttribute("aria-pressed", String(yes));
  remembered("tripwright-criteria", yes ? "yes" : "no");
}

function startSearch() {
  const selected = String(window.getSelection()).trim();
  if (selected && selected.length < 80) { $("search").value = selected; search(selected); }
  $("search").focus();
  $("search").select();
}

const ACTIONS = {
  j: () => show(state.at + 1), k: () => show(state.at - 1), u: nextOpen, f: foldAll, n: () => $("note").focus(),
  c: () => showCriteria(!$("labels").classList.contains("with-criteria")), "/": startSearch, "?": () => $("help").showModal(),
};

document.addEventListener("keydown", (event) => {
  if ($("work").hidden || $("help").open || event.ctrlKey || event.metaKey || event.altKey) return;
  const field = event.target.closest("textarea, input:not([type=radio])");
  if (field) {
    if (event.key !== "Escape") return;
    if (field === $("search")) { field.value = ""; search(""); }
    field.blur();
    $("reading").focus({preventScroll: true});
  } else if (/^[1-9]$/.test(event.key)) {
    if (!event.repeat) toggle(Number(event.key));
  } else if (["Delete", "Backspace"].includes(event.key) && event.target.matches("input[type=radio]")) {
    choose(event.target.name, null);
  } else if (ACTIONS[event.key]) {
    ACTIONS[event.key]();
  } else return;
  event.preventDefault();
});

$("enter").addEventListener("submit", (event) => {
  event.preventDefault();
  $("entry-problem").textContent = "";
  enter($("name").value).catch((error) => { $("entry-problem").textContent = error.message; });
});
$("leave").addEventListener("click", welcome);
$("ask").addEventListener("click", ACTIONS["?"]);
$("previous").addEventListener("click", ACTIONS.k);
$("next").addEventListener("click", ACTIONS.j);
$("undone").addEventListener("click", nextOpen);
$("fold").addEventListener("click", foldAll);
$("criteria").addEventListener("click", ACTIONS.c);
$("to-labels").addEventListener("click", () => $("labels").scrollIntoView());
$("back").addEventListener("click", () => { state.chip.scrollIntoView({block: "center"}); state.chip.focus({preventScroll: true}); $("back").hidden = true; });
$("labels").addEventListener("submit", (event) => event.preventDefault());
$("search").addEventListener("input", () => search($("search").value));
$("note").addEventListener("input", () => keep({note: $("note").value}, 400));
$("reading").addEventListener("click", (event) => {
  const chip = event.target.closest("button.chip");
  if (chip) openCard(chip);
});
$("calls").addEventListener("click", (event) => {
  const button = event.target.closest("td.number button");
  if (button) toggleRow(button.closest("tr"), columnsOf(button.closest("tr")));
});
$("calls").addEventListener("toggle", nameFold, true);

document.addEventListener("visibilitychange", async () => { // another tab or machine may have labelled meanwhile
  if (document.hidden || $("work").hidden || saver.open) return;
  const before = saver.puts;
  const found = await get(`api/rater?name=${encodeURIComponent(state.rater)}`).catch(() => null);
  if (!found || saver.puts !== before || found.rater !== state.rater) return; // older than what was labelled while it came
  state.labels = new Map(Object.entries(found.labels));
  if (document.activeElement !== $("note")) $("note").value = labelOf(current()).note;
  drawLabels();
});

start().catch((error) => { document.body.prepend(el("p", {class: "plain problem", role: "alert"}, error.message)); });
