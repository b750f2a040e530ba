// The map that zooms: Leaflet, come with the page's own files, over the outlines of the states. It is fetched when somebody asks for it.

const WEST_EAST = Math.cos(39 * Math.PI / 180);  // of a degree of longitude there, as on the small map

async function leaflet() {
  if (!window.L) {
    document.head.append(el("link", {rel: "stylesheet", href: "/pages/trip/leaflet/leaflet.css"}));
    await import("/pages/trip/leaflet/leaflet.js");
  }
  return window.L;
}

/** Each outline as [latitude, longitude]s: its path has one point, and then steps from it. */
function outlines(path) {
  return path.match(/M[^M]+/g).map((piece) => {
    const numbers = piece.match(/-?\d+/g).map(Number), points = [];
    for (let at = 0, x = 0, y = 0; at + 1 < numbers.length; at += 2) points.push([-(y += numbers[at + 1]) / 100, (x += numbers[at]) / 100]);
    return points;
  });
}

/** `spots`: [{name, position}] of sights and stays; `stops`: the cities of the route that have a place. */
export async function zoomMap(holder, path, stops, spots, words) {
  const L = await leaflet(), color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  holder.setAttribute("role", "region");
  holder.setAttribute("aria-label", `Map that zooms: ${words}`);
  const crs = {...L.CRS.Simple, transformation: L.transformation(WEST_EAST, 0, -1, 0)};
  const map = L.map(holder, {crs, minZoom: 2, maxZoom: 14, attributionControl: false, preferCanvas: true});
  L.polyline(outlines(path), {color: color("land"), weight: 1, interactive: false}).addTo(map);
  const at = (stop) => [stop.latitude, stop.longitude];
  L.polyline(stops.map(at), {color: color("accent"), weight: 2, interactive: false}).addTo(map);
  const mark = (position, name, radius, fill, permanent) =>
    L.circleMarker(position, {radius, color: color("panel"), weight: 1, fillColor: color(fill), fillOpacity: 1}).bindTooltip(el("span", {}, name), {permanent, direction: "top"}).addTo(map);
  for (const stop of new Map(stops.map((each) => [each.name, each])).values()) mark(at(stop), stop.name, 7, stop.name === stops[0].name ? "ink" : "accent", true);
  for (const spot of spots) mark(spot.position, spot.name, 5, spot.kind === "attraction" ? "yes" : "no", false);
  const away = spots.filter(({position: [latitude, longitude]}) => Math.hypot(latitude - stops[0].latitude, longitude - stops[0].longitude) > 1);
  map.fitBounds(away.length ? away.map((spot) => spot.position) : stops.map(at), {padding: [40, 40], maxZoom: 11});
}
