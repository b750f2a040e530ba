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
