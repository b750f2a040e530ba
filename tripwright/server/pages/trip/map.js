// The route on a map that needs no network: outlines of the states, cities where they lie.

const SVG = "http://www.w3.org/2000/svg", NARROW = Math.cos(39 * Math.PI / 180);  // of a degree of longitude there
let outlines;

function svg(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

async function states() {
  outlines ??= fetch("/pages/trip/us-states.svg").then((answer) => answer.text())
    .then((text) => new DOMParser().parseFromString(text, "image/svg+xml").querySelector("path").getAttribute("d"));
  return outlines;
}

/** Puts a figure into `holder`; stops without a position stand in its words only. */
export async function drawMap(holder, view) {
  const stops = view.route;
  if (stops.length < 2) return;
  const words = stops.map((stop, number) => (number ? ` — ${view.means[number - 1] ?? "way"} → ${stop.name}` : stop.name)).join("");
  const known = stops.filter((stop) => stop.latitude !== null);
  const figure = el("figure", {class: "map"}, el("figcaption", {class: "small muted"}, words));
  holder.replaceChildren(figure);
  if (known.length < 2) return;
  const at = (stop) => [stop.longitude * 100 * NARROW, -stop.latitude * 100];
  const points = known.map(at), xs = points.map((p) => p[0]), ys = points.map((p) => p[1]);
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const width = Math.max(right - left, (bottom - top) * 1.6, 300) * 1.5, height = width / 1.9;
  const [x, y] = [(left + right) / 2 - width / 2, (top + bottom) / 2 - height / 2], unit = width / 100;
  const picture = svg("svg", {viewBox: `${x} ${y} ${width} ${height}`, role: "img", "aria-label": `Map: ${words}`});
  picture.append(svg("path", {d: await states(), transform: `scale(${NARROW} 1)`, class: "states", "stroke-width": unit * 0.3}));
  picture.append(svg("polyline", {points: points.map((p) => p.join(",")).join(" "), class: "route", "stroke-width": unit * 0.6}));
  const named = new Map(known.map((stop) => [stop.name, stop]));
  for (const stop of named.values()) {
    const [cx, cy] = at(stop), home = stop.name === stops[0].name;
    const toLeft = cx > x + width * 0.7;
    picture.append(
      svg("circle", {cx, cy, r: unit * 1.1, class: home ? "home" : "stop"}),
      svg("text", {x: cx + unit * (toLeft ? -1.8 : 1.8), y: cy - unit * 1.2, "font-size": unit * 3.4, "text-anchor": toLeft ? "end" : "start"}, stop.name));
  }
  figure.prepend(picture);
  const spots = view.parts.flatMap((part) => part.items).map(({text, kind, position}) => ({name: text, kind, position})).filter((spot) => spot.position || spot.kind === "accommodation");
  for (const spot of spots.filter((each) => !each.position)) {  // shown in the middle of its city, and said so
    const city = known.find((stop) => spot.name.endsWith(`, ${stop.name}`));
    if (city) Object.assign(spot, {position: [city.latitude, city.longitude], name: `${spot.name}: somewhere in this city, its place is not known`});
  }
  const zoom = el("button", {type: "button", class: "quiet zoom", click: async () => {
    const {zoomMap} = await import("/pages/trip/zoom.js"), large = el("div", {class: "large"});
    picture.replaceWith(large);
    zoom.remove();
    await zoomMap(large, await states(), known, spots, words);
    large.focus();
  }}, spots.length ? "Zoom in: sights and stays" : "Zoom in");
  figure.append(zoom);
}
