// Elements out of values. Whatever comes from a transcript becomes a text node, or an attribute that runs nothing.

function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child || child === 0));
  return made;
}

const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
const usd = (amount) => `$${amount.toLocaleString("en", {maximumFractionDigits: 2})}`;

/** A field name as words: 'is_valid_restaurants' → 'valid restaurants'. */
const plain = (name) => String(name).replace(/^is_/, "").replaceAll("_", " ");

const VERDICTS = {
  1: {sign: "✓", words: "passed", kind: "pass"},
  0: {sign: "✗", words: "failed", kind: "fail"},
  "-1": {sign: "?", words: "unscored", kind: "na"},
};

function mark(verdict) {
  const {sign, words, kind} = VERDICTS[verdict];
  return el("b", {class: kind}, `${sign} ${words}`);
}

/** A part that can be folded; what it holds is only made when it is first opened. */
function fold(kind, summary, make, opened) {
  const body = el("div", {});
  const made = el("details", {class: kind}, el("summary", {}, summary), body);
  const fill = () => { if (!body.firstChild) body.append(...[make()].flat(Infinity)); };
  made.addEventListener("toggle", () => { if (made.open) fill(); });
  made.unfold = () => { fill(); made.open = true; };
  if (opened) made.unfold();
  return made;
}
