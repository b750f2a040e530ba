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
