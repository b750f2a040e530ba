// The page: what was asked for, what happens, what came out. Addresses: #new, #trips, #trip=ID, #compare=ID,ID.

import {events, get, hasKey, send, useKey} from "/pages/trip/api.js";
import {Calls} from "/pages/trip/calls.js";
import {drawForm, drawHeard, understoodBlock} from "/pages/trip/form.js";
import {drawPlan, money} from "/pages/trip/plan.js";

const $ = (id) => document.getElementById(id);
const STATUS = {queued: "Waiting for its turn …", running: "Planning …", done: "Done", no_plan: "There is no such trip", failed: "No plan came out", cancelled: "Cancelled"};
const OVER = ["done", "no_plan", "failed", "cancelled"];
const MOST_WORDS = 4000;
const calls = new Calls($("calls"));
let desk, form, own = true, replaces = null, watching = new AbortController();

function fault(error) {
  if (error?.name === "AbortError") return;
  if (error?.status === 401) {
    show("unlock");
    $("key").focus();
    if (!hasKey()) return;
    error = {message: "This key is not accepted here."};
  }
  $("fault").textContent = error?.message ?? String(error);
  $("fault").hidden = false;
}

function show(...sections) {
  for (const section of document.querySelectorAll("main > *")) section.hidden = !sections.includes(section.id);
  $("fault").hidden = true;
}

async function route() {
  watching.abort();
  watching = new AbortController();
  try {
    const [page, argument] = location.hash.slice(1).split("=");
    if (!desk) await open().catch((error) => { if (page !== "trip" || error.status !== 401) throw error; });  // a shared trip needs no key
    if (page === "trip") await watch(argument);
    else if (page === "trips") await showPast();
    else if (page === "compare") await compare(argument.split(","));
    else { show("ask"); if (page === "new") forget(); }
  } catch (error) { fault(error); }
}

async function open() {
  desk = await get("/v1/desk");
  $("world").textContent = desk.world.name;
  form = drawForm(desk.form, $("fields"));
  $("planner").replaceChildren(...desk.planners.map((each) => el("option", {value: each.name}, each.label)));
  $("planner").value = desk.default_planner;
  $("examples").replaceChildren(...desk.examples.map((text) =>
    el("button", {type: "button", class: "example", click: () => { $("words").value = text; read(); }}, text)));
}

// ---- asking

let reading = 0;
async function read() {
  const text = $("words").value, mine = ++reading;
  const most = [...text].length > MOST_WORDS;
  if (most || !text.trim()) {
    $("heard").replaceChildren(most ? el("p", {class: "problem"}, `${[...text].length.toLocaleString("en")} characters: at most ${MOST_WORDS.toLocaleString("en")} can be read.`) : "");
    return;
  }
  try {
    const understood = await send("POST", "/v1/read", {text});
    if (mine !== reading) return;
    drawHeard($("heard"), text, understood, form);
    form.clear();
    form.fill(understood.values);
  } catch (error) { fault(error); }
}

/** The words say what a changed form says, and what they said that has no field. */
let rewording = Promise.resolve();
async function reword() {
  const mine = ++reading;
  const understood = await send("POST", "/v1/read", {text: $("words").value.slice(0, MOST_WORDS), values: form.values()});
  if (mine !== reading) return;
  $("words").value = understood.text;
  drawHeard($("heard"), understood.text, understood, form);
}
$("fields").addEventListener("change", () => { clearTimeout(pause); pause = null; rewording = reword().catch(fault); });

let pause;
$("words").addEventListener("input", () => { clearTimeout(pause); pause = setTimeout(() => { pause = null; read(); }, desk.reader === "model" ? 1200 : 400); });

/** `text`: of other wishes than the form's, the words for them. */
async function plan(values, from = replaces, text = null, comfort = null) {
  $("fault").hidden = true;
  form.tell([]);
  try {
    text ??= $("words").value.trim();
    const trip = await send("POST", "/v1/trips", {values, text: [...text].length <= MOST_WORDS ? text : null, planner: $("planner").value, replaces: from, comfort});
    location.hash = `trip=${trip.id}`;
  } catch (error) {
    if (!error.problems?.length) { fault(error); return; }
    show("ask");
    form.fill(values);
    form.tell(error.problems);
    form.focus(error.problems[0].field);
  }
}

$("wishes").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (pause) { clearTimeout(pause); pause = null; await read(); }
  await rewording;
  plan(form.values());
});
$("anew").addEventListener("click", forget);
$("unlock").addEventListener("submit", (event) => { event.preventDefault(); useKey($("key").value); route(); });
$("cancel").addEventListener("click", () => send("POST", `/v1/trips/${location.hash.split("=")[1]}/cancel`).then(route, fault));

function forget() {
  replaces = null;
  $("anew").hidden = $("replacing").hidden = true;
  $("plan").textContent = "Plan the trip";
  $("ask-title").textContent = "Where would you like to go?";
  $("words").value = "";
  $("heard").replaceChildren();
  form.clear();
  history.replaceState(null, "", "/");
}

/** The form with a trip's wishes; the new plan keeps what it can of the old one. */
function change(trip) {
  history.pushState(null, "", "/#change");
  show("ask");
  form.clear();
  form.fill(trip.values);
  $("words").value = trip.text ?? "";
  rewording = reword().catch(fault);
  replaces = trip.id;
  $("ask-title").textContent = "Change your wishes";
  $("plan").textContent = "Plan again";
  $("anew").hidden = $("replacing").hidden = false;
  $("replacing").textContent = "Days that can stay as they are will stay.";
  $("planner").value = trip.planner;
  form.focus(desk.form[0].name);
}

// ---- watching

async function watch(id) {
  show("trip");
  calls.clear();
  const trip = await get(`/v1/trips/${id}`);
  head(trip);
  $("trip-title").focus();
  own = trip.own !== false;
  for await (const [event, body] of events(id, watching.signal)) {
    if (event === "status") {
      if (body.status === "running") calls.clear();  // a trip that was taken up again begins anew
      status(body.status);
    } else if (event === "call") calls.call(body);
    else if (event === "answer") calls.answer(body);
    else if (event === "done") finish({...body, shared: trip.shared});  // which it says as it was when it ended
  }
}

function head(trip) {
  $("trip-title").textContent = trip.view?.title ?? "Your trip";
  document.title = `${trip.view?.title ?? "A trip"} · tripwright`;
  $("request").replaceChildren(understoodBlock(trip.sentence ? trip : {sentence: trip.words}));
  $("actions").replaceChildren();
  $("plan-here").replaceChildren();
  $("change-here").replaceChildren();
  $("work").open = true;
  $("work").hidden = false;
  status(trip.status);
}

function status(name) {
  $("status").textContent = STATUS[name];
  $("status").className = name;
  $("cancel").hidden = OVER.includes(name);
}

function finish(trip) {
  head(trip);
  $("work").open = !trip.view;
  $("work").hidden = !calls.lines.size;
  $("actions").replaceChildren(...(own ? actions(trip) : []), el("span", {class: "muted small"}, trip.shared ? "Whoever has this address can read this trip." : ""));
  if (own) drawChange(trip);
  if (trip.no_plan) noPlan(trip);
  else if (trip.view) drawPlan($("plan-here"), trip, (call, row) => calls.show(call, row), own && trip.planner === desk?.comfort ? {levels: desk.comfort_levels, plan: (comfort) => atComfort(trip, comfort)} : null, own ? swapsOf(trip.id) : null);
  else $("plan-here").replaceChildren(el("p", {class: "problem"}, trip.error ?? ""));
}

/** What can stand in the place of an item, and the trip with it. */
const swapsOf = (id) => ({
  list: (part, item) => get(`/v1/trips/${id}/swaps?${new URLSearchParams({part, item})}`),
  take: async (part, item, swap) => { location.hash = `trip=${(await send("POST", `/v1/trips/${id}/swaps`, {part, item, swap})).id}`; },
  fault,
});

/** The same wishes, and this share of what the budget leaves for comfort. */
async function atComfort({id, values, text, planner}, comfort) {
  try {
    location.hash = `trip=${(await send("POST", "/v1/trips", {values, text, planner, comfort, replaces: id})).id}`;
  } catch (error) { fault(error); }
}

function noPlan(trip) {
  const {why, changes} = trip.no_plan;
  const other = async (values) => plan(values, trip.replaces, (await send("POST", "/v1/read", {text: trip.text ?? "", values})).text);
  const buttons = changes.map((each) => el("button", {type: "button", click: () => other({...trip.values, ...each.values}).catch(fault)},
    each.words, each.cost === null ? "" : el("small", {class: "muted"}, ` then from ${usd(each.cost)}`)));
  $("plan-here").replaceChildren(
    el("div", {class: "note"}, el("h2", {}, "Why not"), why.map((words) => el("p", {}, words))),
    buttons.length ? el("div", {class: "changes"}, el("h2", {}, "What would help"), buttons) : el("p", {}, "No single change would help."));
}

// ---- words about a plan

/** What they would change, before anything is planned. */
async function sayChange(trip, text) {
  const read = await send("POST", `/v1/trips/${trip.id}/changes`, {text}), open = Object.values(read.missing);
  const rows = read.changes.map((each) => el("li", {}, `${each.label}: `, el("s", {}, each.before), " → ", el("b", {}, each.after)));
  const unclear = read.unread.length || open.length;
  $("change-preview").replaceChildren(
    rows.length ? el("ul", {}, rows) : "",
    understoodBlock({cannot: read.cannot, unread: read.unread, text}),
    ...open.map((question) => el("p", {class: "problem"}, question)),
    unclear || !rows.length ? el("p", {class: "small muted"}, rows.length || unclear ? "You could say: " : "That changes nothing. You could say: ", ...read.could_say.map((words) => el("button", {type: "button", class: "chip", click: () => { $("change-words").value = words; sayChange(trip, words).catch(fault); }}, words))) : "",
    rows.length && !open.length ? el("div", {class: "bar"},
      el("button", {type: "button", class: "main", click: () => { $("planner").value = trip.planner; plan(read.values, trip.id, read.text, read.comfort); }}, "Plan with this"),
      el("button", {type: "button", click: () => { $("change-words").value = ""; $("change-preview").replaceChildren(); }}, "Leave it as it is")) : "");
}

function drawChange(trip) {
  const words = el("input", {id: "change-words", autocomplete: "off", "aria-describedby": "change-preview"});
  $("change-here").replaceChildren(...(trip.view ? [
    el("form", {id: "change", submit: (event) => { event.preventDefault(); if (words.value.trim()) sayChange(trip, words.value).catch(fault); }},
      el("label", {for: "change-words", class: "label"}, "What should be different?"),
      el("div", {class: "bar"}, words, el("button", {}, "Show the change"))),
    el("div", {id: "change-preview", "aria-live": "polite"})] : []));
}

/** Whoever has a shared trip's address may read it, here and after a reload. */
async function share(trip) {
  finish(await send("POST", `/v1/trips/${trip.id}/share`, {shared: !trip.shared}));
}

function actions(trip) {
  const act = (label, run) => el("button", {type: "button", click: () => Promise.resolve(run()).catch(fault)}, label);
  return [
    act(trip.view ? "Change a wish" : "Change the wishes", () => change(trip)),
    ...(trip.replaces ? [act("Undo the change", () => { location.hash = `trip=${trip.replaces}`; })] : []),
    ...(trip.view ? [act("Print", () => window.print()), act("Calendar", async () => (await import("/pages/trip/calendar.js")).download(trip))] : []),
    act(trip.shared ? "Stop sharing" : "Share", () => share(trip)),
    act("Delete", () => remove(trip)),
  ];
}

async function remove(trip) {
  if (!confirm("Delete this trip for good?")) return false;
  await send("DELETE", `/v1/trips/${trip.id}`);
  if (location.hash === "#trips") await showPast();
  else location.hash = "trips";
  return true;
}

// ---- past trips

async function showPast() {
  show("past");
  $("list").replaceChildren();
  let before = "";
  do {
    const page = await get(`/v1/trips?limit=100${before}`);
    $("list").append(...page.trips.map(line));
    before = page.next === null ? null : `&before=${page.next}`;
  } while (before !== null);
  $("none").hidden = $("list").children.length > 0;
  $("compare").hidden = $("list").children.length < 2;
  picked();
}

function line(trip) {
  const sign = trip.status === "done" ? (trip.passed ? "✓" : "✗") : "…";
  const when = new Date(trip.created_at).toLocaleString("en", {dateStyle: "medium", timeStyle: "short"});
  return el("li", {},
    el("input", {type: "checkbox", value: trip.id, disabled: trip.status !== "done", "aria-label": `Compare ${trip.title}`, change: picked}),
    el("a", {href: `#trip=${trip.id}`}, trip.title),
    el("span", {class: "muted small"}, `${sign} ${STATUS[trip.status]}`, trip.cost === null ? "" : `, ${money(trip.cost, trip.currency)}`, `, ${when}`),
    el("button", {type: "button", class: "quiet", "aria-label": `Delete ${trip.title}`, click: () => remove(trip).catch(fault)}, "Delete"));
}

function picked() {
  const boxes = [...$("list").querySelectorAll("input:checked")];
  $("compare").disabled = boxes.length !== 2;
  return boxes.map((box) => box.value);
}

$("picked").addEventListener("submit", (event) => { event.preventDefault(); location.hash = `compare=${picked().join(",")}`; });

async function compare(ids) {
  const trips = await Promise.all(ids.slice(0, 2).map((id) => get(`/v1/trips/${id}`)));
  show("beside");
  $("beside").replaceChildren(...trips.map((trip) => {
    const plan = el("div", {});
    if (trip.view) drawPlan(plan, {...trip, replan: null, changed: differing(trip, trips.find((other) => other !== trip))});
    return el("section", {"aria-label": trip.view?.title ?? "Trip"}, el("h1", {}, el("a", {href: `#trip=${trip.id}`}, trip.view?.title ?? "Trip")), understoodBlock(trip.sentence ? trip : {sentence: trip.words}), plan);
  }));
}

/** Keys of the parts that the other plan has not, or has otherwise. */
function differing(trip, other) {
  const same = (part) => JSON.stringify([part.where, part.items.map((item) => item.text)]);
  const others = new Map((other?.view?.parts ?? []).map((part) => [part.key, same(part)]));
  return trip.view.parts.filter((part) => others.get(part.key) !== same(part)).map((part) => part.key);
}

// no hash: it would be another page's
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); $("main").focus(); });
window.addEventListener("hashchange", route);
route();
