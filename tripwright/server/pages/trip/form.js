// The form that a domain offers, and the words above it.

/** {values, fill, tell, focus}: what it says, put into it, problems beside their fields. */
export function drawForm(fields, holder) {
  const inputs = new Map(fields.map((field) => [field.name, input(field)]));
  holder.replaceChildren(...fields.map((field) => row(field, inputs.get(field.name))));
  const tell = (problems) => {
    for (const field of fields) say(field, inputs.get(field.name), problems.filter((each) => each.field === field.name));
  };
  return {
    values: () => Object.fromEntries([...inputs].map(([name, each]) => [name, each.read()]).filter(([, value]) => value !== null)),
    fill: (values) => { for (const [name, value] of Object.entries(values)) inputs.get(name)?.write(value); },
    clear: () => { for (const field of fields) inputs.get(field.name).write(field.default ?? null); tell([]); },
    tell,
    focus: (name) => inputs.get(name)?.node.focus(),
    labels: new Map(fields.map((field) => [field.name, field.label])),
  };
}

function input(field) {
  const id = `field-${field.name}`, common = {id, name: field.name, "aria-describedby": `${id}-problem ${id}-help`, required: field.required};
  const simple = (attributes, read = (text) => text.trim() || null) => {
    const node = el("input", {...common, ...attributes});
    return {node, read: () => read(node.value), write: (value) => { node.value = value ?? ""; }};
  };
  const number = (text) => (text.trim() === "" ? null : Number.isNaN(Number(text)) ? text : Number(text));
  let made;
  if (field.kind === "choice") {
    const node = el("select", common, el("option", {value: ""}, "no matter"), ...field.options.map((each) => el("option", {value: each}, each)));
    made = {node, read: () => node.value || null, write: (value) => { node.value = value ?? ""; }};
  } else if (field.kind === "choices") {
    const boxes = field.options.map((each) => el("input", {type: "checkbox", value: each}));
    const node = el("div", {id, class: "choices", role: "group", tabindex: -1, "aria-label": field.label},
      boxes.map((box) => el("label", {}, box, box.value)));
    made = {
      node,
      read: () => { const chosen = boxes.filter((box) => box.checked).map((box) => box.value); return chosen.length ? chosen : null; },
      write: (value) => { for (const box of boxes) box.checked = (value ?? []).includes(box.value); },
    };
  } else if (field.kind === "texts") {
    const node = el("textarea", {...common, rows: 2, placeholder: "one a line"});
    made = {
      node,
      read: () => { const lines = node.value.split("\n").map((line) => line.trim()).filter(Boolean); return lines.length ? lines : null; },
      write: (value) => { node.value = (value ?? []).join("\n"); },
    };
  } else if (field.kind === "place") {
    made = simple({list: `${id}-options`, autocomplete: "off", spellcheck: "false"});
  } else if (field.kind === "date") {
    made = simple({type: "date", min: field.low, max: field.high});
  } else if (field.kind === "time") {
    made = simple({type: "time"});
  } else if (field.kind === "count" || field.kind === "money") {
    made = simple({type: "number", inputmode: "numeric", min: field.low, max: field.high, step: field.kind === "count" ? 1 : "any"}, number);
  } else {
    made = simple({});
  }
  made.write(field.default ?? null);
  return made;
}

function row(field, made) {
  const id = `field-${field.name}`;
  const unit = field.unit ? ` (${field.unit})` : "";
  return el("div", {class: `field ${field.kind}`},
    el(field.kind === "choices" ? "span" : "label", {for: field.kind === "choices" ? null : id, class: "label"}, field.label + unit, field.required ? el("span", {class: "muted", "aria-hidden": "true"}, " *") : ""),
    made.node,
    field.kind === "place" ? el("datalist", {id: `${id}-options`}, field.options.map((each) => el("option", {value: each}))) : "",
    el("p", {class: "help small muted", id: `${id}-help`}, field.help),
    el("p", {class: "problem small", id: `${id}-problem`}));
}

function say(field, made, problems) {
  const place = document.getElementById(`field-${field.name}-problem`);
  const quoted = (text) => problems.some((each) => each.message.includes(`'${text}'`));
  const accepted = (value) => field.kind === "texts" ? [...(made.read() ?? []).filter((line) => !quoted(line)), value] : field.kind === "choices" ? [value] : value;
  const nearest = problems.flatMap((each) => each.nearest).map((value) =>
    el("button", {type: "button", class: "chip", click: () => { made.write(accepted(value)); say(field, made, []); made.node.focus(); made.node.dispatchEvent(new Event("change", {bubbles: true})); }}, value));
  place.replaceChildren(problems.map((each) => each.message).join(" "), ...nearest);
  if (problems.length) made.node.setAttribute("aria-invalid", "true");
  else made.node.removeAttribute("aria-invalid");
}

/** What was understood, in one sentence; what cannot be kept here; what was not understood. Of these the traveller's own words (`text`) stand in quotation marks. */
export function understoodBlock(told) {
  const lists = [["Cannot be kept here", told.cannot ?? [], "cannot"], ["Not understood", told.unread ?? [], "problem"]];
  return el("div", {class: "understood"},
    told.sentence ? el("p", {class: "sentence"}, el("span", {class: "muted"}, "Understood: "), told.sentence) : "",
    ...lists.filter(([, words]) => words.length).map(([title, words, kind]) =>
      el("p", {class: kind}, el("b", {}, `${title}: `), words.map((each) => (told.text?.includes(each) ? `“${each}”` : each)).join(", "))));
}

/** What was read of the words, each stretch with its field; and what has still to be asked. */
export function drawHeard(holder, text, understood, form) {
  if (!text.trim()) { holder.replaceChildren(); return; }
  const characters = [...text];  // positions count characters, as the server's do
  const words = understood.spans.map((span) => {
    const part = characters.slice(span.start, span.end).join("");
    return span.field
      ? el("mark", {title: form.labels.get(span.field)}, part, el("small", {}, ` ${form.labels.get(span.field)} `))
      : el("span", {class: understood.unread.some((each) => part.includes(each)) ? "unread" : ""}, part);
  });
  const questions = Object.entries(understood.missing).map(([name, question]) =>
    el("button", {type: "button", class: "chip missing", click: () => form.focus(name)}, question));
  holder.replaceChildren(
    el("p", {class: "words"}, words),
    understoodBlock({...understood, text}),
    questions.length ? el("p", {class: "bar"}, questions) : "");
}
