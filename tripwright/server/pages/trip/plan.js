// A plan as its desk arranged it: parts with their lines, money, checks, the route.

import {drawMap} from "/pages/trip/map.js";

export const money = (amount, currency) => amount.toLocaleString("en", {style: "currency", currency});
const SIGNS = {passed: "✓", failed: "✗", not_applicable: "–", not_evaluated: "–"};
const SAID = {passed: "kept", failed: "not kept", not_applicable: "not asked for", not_evaluated: "not looked at"};

/** `show(call, row)` opens what a line rests on; `again`: the `levels` of comfort, and `plan(share)` with so much of it. `swaps` lists and takes what can stand in the place of an item. Without them a plan is only shown. */
export function drawPlan(holder, trip, show, again, swaps) {
  const view = trip.view, changed = new Set(trip.changed ?? []);
  const map = el("div", {});
  holder.replaceChildren(
    trip.replan ? el("p", {class: "note"}, trip.replan) : "",
    el("div", {class: "overview"}, el("div", {class: "sums"}, sums(view, trip), again ? slider(trip, again) : ""), map),
    ...(view.notes ?? []).map((note) => el("p", {class: "small muted"}, note)),
    view.parts.some((part) => part.items.some((item) => item.starts)) ? el("p", {class: "small muted"}, "Each time is that of the place where it is read.") : "",
    el("div", {class: "parts"}, view.parts.map((part) => drawPart(part, view, changed.has(part.key), show, swaps))),
    checks(view));
  drawMap(map, view);
}

function slider(trip, {levels, plan: again}) {
  const steps = levels.length - 1, level = Math.round((trip.comfort ?? 0) * steps), plan = el("button", {disabled: true}, "Plan again with this");
  const range = el("input", {type: "range", id: "comfort", min: 0, max: steps, value: level, "aria-valuetext": levels[level], input: () => {
    said.textContent = levels[range.value];
    range.setAttribute("aria-valuetext", levels[range.value]);
    plan.disabled = Number(range.value) === level;
  }});
  const said = el("output", {for: "comfort"}, levels[level]);
  return el("form", {class: "comfort", submit: (event) => { event.preventDefault(); again(range.value / steps); }},
    el("label", {for: "comfort", class: "label"}, "From cheapest to comfortable"), range, el("div", {class: "bar"}, said, plan));
}

function sums(view, trip) {
  const failed = view.checks.filter((check) => check.state === "failed").length;
  const unread = (trip.unread ?? []).length, kept = (trip.cannot ?? []).length ? "✓ What can be kept here is kept" : "✓ Everything that was asked for is kept";
  const verdict = el("p", {class: view.passed && !unread ? "verdict yes" : "verdict no"},
    view.passed ? unread ? "What was understood is kept; not everything was understood" : kept : failed ? `✗ ${counted(failed, "thing")} not kept` : "✗ No plan that can be used");
  if (view.cost === null || view.cost === undefined) return el("div", {}, verdict);
  const cost = money(view.cost, view.currency);
  if (view.budget === null || view.budget === undefined) return el("div", {}, verdict, el("p", {class: "sum"}, cost));
  const left = view.budget - view.cost;
  return el("div", {}, verdict,
    el("p", {class: "sum"}, cost, el("small", {class: "muted"}, ` of ${money(view.budget, view.currency)}`)),
    el("meter", {min: 0, max: Math.max(view.budget, view.cost), high: view.budget, value: view.cost, "aria-label": `${cost} of the budget of ${money(view.budget, view.currency)}`}),
    el("p", {class: left < 0 ? "problem small" : "small muted"}, left < 0 ? `${money(-left, view.currency)} over the budget` : `${money(left, view.currency)} left`));
}

function drawPart(part, view, changed, show, swaps) {
  const day = part.date ? new Date(`${part.date}T00:00`).toLocaleDateString("en", {weekday: "short", day: "numeric", month: "short", year: "numeric"}) : "";
  return el("article", {class: changed ? "part changed" : "part", "aria-label": part.title},
    el("div", {class: "bar"}, el("h2", {}, part.title), el("span", {class: "muted"}, day), changed ? el("span", {class: "chip"}, "changed") : "",
      part.cost !== null && part.cost !== undefined ? el("b", {class: "cost"}, money(part.cost, view.currency)) : ""),
    el("p", {class: "where"}, part.where),
    part.remarks.map((remark) => el("p", {class: "problem small"}, remark)),
    el("ul", {class: "items"}, part.items.map((item) => drawItem(part, item, view, show, swaps))));
}

function drawItem(part, item, view, show, swaps) {
  const clock = (moment) => (moment?.includes("T") ? moment.slice(11, 16) : null);
  const times = [clock(item.starts), clock(item.ends)].filter(Boolean).join("–");
  const evidence = item.evidence && show
    ? el("button", {type: "button", class: "quiet evidence", "aria-label": `Where ${item.text} was found`, click: () => show(...item.evidence)}, `call ${item.evidence[0]}, row ${item.evidence[1]}`)
    : "";
  return el("li", {class: item.alternative ? "item second" : "item"},
    el("span", {class: "label muted"}, item.alternative ? `or: ${item.label}` : item.label),
    el("div", {},
      times ? el("b", {class: "times"}, times, " ") : "", el("span", {}, item.text), " ", evidence,
      item.facts.map(([label, text]) => el("p", {class: "small muted"}, `${label}: ${text}`)),
      item.remarks.map((remark) => el("p", {class: "problem small"}, `✗ ${remark}`)),
      item.key && swaps ? others(part, item, view, swaps) : ""),
    el("span", {class: "cost"}, item.cost !== null && item.cost !== undefined ? money(item.cost, view.currency) : "", item.count ? el("small", {class: "muted"}, item.count) : ""));
}

/** What else could stand there, looked up when it is opened: the verdict and the total with each. */
function others(part, item, view, swaps) {
  const holder = el("div", {"aria-live": "polite"}, "…");
  const line = (swap, number) => {
    const more = swap.total === null || view.cost === null ? null : swap.total - view.cost;
    const sum = more === null ? "" : `${money(swap.total, view.currency)} in all (${more < 0 ? "−" : "+"}${money(Math.abs(more), view.currency)})`;
    return el("li", {}, el("b", {}, swap.item.text), swap.item.facts.map(([label, text]) => el("span", {class: "small muted"}, ` ${label}: ${text}.`)),
      el("p", {class: swap.passed ? "yes small" : "problem small"}, swap.passed ? "✓ All checks pass" : `✗ Not kept: ${swap.problems.join(", ")}`, sum ? `, ${sum}` : ""),
      el("button", {type: "button", "aria-label": `Take ${swap.item.text} instead of ${item.text}`, click: () => swaps.take(part.key, item.key, number).catch(swaps.fault)}, "Take this"));
  };
  const folded = el("details", {class: "others", toggle: async () => {
    if (!folded.open) return;
    try {
      const found = await swaps.list(part.key, item.key);
      holder.replaceChildren(found.length ? el("ul", {}, found.map(line)) : "There is nothing else for this.");
    } catch (error) { swaps.fault(error); }
  }}, el("summary", {class: "small", "aria-label": `Something else than ${item.text}`}, "Something else"), holder);
  return folded;
}

function checks(view) {
  const line = (check) => el("li", {class: check.state}, el("span", {"aria-hidden": "true"}, SIGNS[check.state]), " ", check.title,
    el("span", {class: "muted"}, ` ${SAID[check.state]}`), check.details.map((detail) => el("p", {class: "small muted"}, detail)));
  const failed = view.checks.filter((check) => check.state === "failed"), others = view.checks.filter((check) => check.state !== "failed");
  if (!view.checks.length) return "";
  const kept = others.filter((check) => check.state === "passed").length;
  return el("section", {class: "checks", "aria-label": "What was checked"},
    el("ul", {}, failed.map(line)),
    el("details", {open: failed.length === 0}, el("summary", {}, `${counted(kept, "check")} passed`), el("ul", {}, others.map(line))));
}
