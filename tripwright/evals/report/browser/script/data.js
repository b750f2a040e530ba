// What the page holds: columns about all episodes, and pieces of packed transcripts that are unpacked when one of theirs is read.

const data = JSON.parse(document.getElementById("episode-columns").textContent);
const total = data.id.length;
const KEPT_PIECES = 8; // unpacked ones that stay in memory
const AT_ONCE = 8; // pieces that a search unpacks side by side
const unpacked = new Map(); // number → promise of its lines; the latest used last

/** The request of an episode in words, and what it is counted under: {level: "easy", days: "3 days"}. */
const request = (i) => data.queries[data.query[i]];
const hasText = (i) => data.piece[i] >= 0;
const sourceName = (i) => { const s = data.sources[data.source[i]]; return s.run ? `${s.run} · ${s.name}` : s.name; };
const address = (i) => `${data.sources[data.source[i]].key}/${data.id[i]}`;
const addresses = new Map(data.id.map((_, i) => [address(i), i]));

async function lines(piece) {
  const packed = atob(document.getElementById(`piece-${piece}`).textContent);
  const bytes = new Uint8Array(packed.length);
  for (let k = 0; k < packed.length; k++) bytes[k] = packed.charCodeAt(k);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return (await new Response(stream).text()).split("\n");
}

function kept(piece) {
  const found = unpacked.get(piece) || lines(piece);
  unpacked.delete(piece);
  unpacked.set(piece, found);
  if (unpacked.size > KEPT_PIECES) unpacked.delete(unpacked.keys().next().value);
  return found;
}

/** The whole transcript, or null where the page holds none. */
async function transcript(i) {
  return hasText(i) ? JSON.parse((await kept(data.piece[i]))[data.line[i]]) : null;
}

/** Those episodes whose text holds every one of the words; `tell` hears the share that was looked at, `stopped` may end it early. */
async function holding(words, tell, stopped) {
  const wanted = words.map((word) => JSON.stringify(word).slice(1, -1).toLowerCase());
  const found = new Set();
  const pieces = new Map();
  for (let i = 0; i < total; i++) {
    if (!hasText(i)) continue;
    if (!pieces.has(data.piece[i])) pieces.set(data.piece[i], []);
    pieces.get(data.piece[i]).push(i);
  }
  const waiting = [...pieces];
  for (let from = 0; from < waiting.length; from += AT_ONCE) {
    const several = waiting.slice(from, from + AT_ONCE);
    const texts = await Promise.all(several.map(([piece]) => unpacked.get(piece) || lines(piece)));
    if (stopped()) return null;
    several.forEach(([, episodes], k) => {
      for (const i of episodes) {
        const text = texts[k][data.line[i]].toLowerCase();
        if (wanted.every((word) => text.includes(word))) found.add(i);
      }
    });
    tell(Math.min(1, (from + AT_ONCE) / waiting.length));
  }
  return found;
}

// Which episode of another evaluation answers the same request: the n-th here and the n-th there.
const nth = [];
const byRequest = data.sources.map(() => new Map()); // source → request → its episodes, in order
for (let i = 0; i < total; i++) {
  const there = byRequest[data.source[i]];
  if (!there.has(data.query[i])) there.set(data.query[i], []);
  nth.push(there.get(data.query[i]).push(i) - 1);
}
const counterpart = (i, source) => (byRequest[source].get(data.query[i]) || [])[nth[i]] ?? null;
const others = (i) => byRequest.flatMap((there) => there.get(data.query[i]) || []).filter((other) => other !== i);
