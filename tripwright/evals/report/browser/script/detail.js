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
