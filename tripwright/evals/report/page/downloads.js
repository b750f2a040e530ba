// Two small buttons under each figure, by which a reader takes it away: made here, so that a page without JavaScript or on paper has none.
// An SVG is saved as it is seen, colours and all; the CSV is what the drawing carries.

const SEEN = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "opacity",
  "font-family", "font-size", "font-weight"];

function save(name, kind, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], {type: kind + ";charset=utf-8"}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function alone(drawing) {
  const copy = drawing.cloneNode(true), seen = [drawing, ...drawing.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((part, i) => {
    const style = getComputedStyle(seen[i]);
    for (const name of SEEN) part.style.setProperty(name, style.getPropertyValue(name));
  });
  copy.querySelectorAll(".strips, metadata").forEach(part => part.remove());
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect"), box = drawing.viewBox.baseVal;
  for (const [name, value] of [["width", box.width], ["height", box.height]]) {
    ground.setAttribute(name, value);
    copy.setAttribute(name, value);
  }
  ground.style.fill = getComputedStyle(drawing.closest("figure")).backgroundColor;
  copy.prepend(ground);
  return new XMLSerializer().serializeToString(copy);
}

for (const figure of document.querySelectorAll("figure")) {
  const drawing = figure.querySelector("svg.chart"), data = drawing && drawing.querySelector("metadata");
  if (!data) continue;
  const title = drawing.getAttribute("aria-label");
  const name = title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "figure";
  const take = document.createElement("p");
  take.className = "take";
  for (const [ending, kind, text] of [["svg", "image/svg+xml", () => alone(drawing)], ["csv", "text/csv", () => data.textContent]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = ending.toUpperCase();
    button.setAttribute("aria-label", `Save ${title} as ${ending.toUpperCase()}`);
    button.addEventListener("click", () => save(`${name}.${ending}`, kind, text()));
    take.append(...(take.childNodes.length ? [" · "] : []), button);
  }
  figure.append(take);
}
