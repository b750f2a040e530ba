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
