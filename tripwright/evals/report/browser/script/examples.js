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
