// Small pieces of the page. Names come from traces: they become text and nothing else.

function textElement(tag, text, className = "") {
  const element = document.createElement(tag);
  element.textContent = text;
  if (className) element.className = className;
  return element;
}

function mark(className, tag = "span") {
  const element = document.createElement(tag);
  element.className = className;
  return element;
}

// A field for each of the colours; `name` is a class of theirs.
function swatches(colours, name = "") {
  const element = mark("swatch");
  for (const colour of colours) {
    const field = mark(name, "i");
    if (colour) field.style.background = colour;
    element.append(field);
  }
  return element;
}

const captionLine = () => mark("caption", "div");

// What a colour means, for a line of them.
function colourEntry(fill, words) {
  const entry = mark("entry");
  entry.append(swatches([fill]), words);
  return entry;
}

function warning(text) {
  return textElement("strong", `\u26a0 ${text}`, "warning");
}

// Figures that rest on numbers that no source has are marked, as analysis/report/assumed.hpp says. `assumed`
// are keys of the file of `assumed_gpu`; of one of them no time rests.
const FREE_MEMORY = "free_memory";
const timeMark = ({ assumed }) => (assumed.some((key) => key !== FREE_MEMORY) ? "~" : "");
const capacityMark = ({ assumed }) => (assumed.includes(FREE_MEMORY) ? "~" : "");

// Lines on what marked figures rest on, one for each GPU's file.
function assumedNotes(all, words) {
  const keysOf = new Map();
  for (const { assumed, assumed_gpu: gpu } of all) {
    if (assumed.length === 0) continue;
    if (!keysOf.has(gpu)) keysOf.set(gpu, new Set());
    for (const key of assumed) keysOf.get(gpu).add(key);
  }
  const [begin, middle, end = ""] = words.split("{}");
  return [...keysOf].map(([gpu, keys]) =>
    textElement("p", begin + shortened(gpu, 100) + middle + [...keys].join(", ") + end, "assumed"));
}

// A name of a trace may be of any length and may hold anything: control characters and those that
// turn the direction of text are shown as what they are.
function printableName(name) {
  const unseen = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
  return name.replace(unseen, "\ufffd");
}

function shortened(name, most) {
  const letters = [...printableName(name.slice(0, 4 * most))];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}\u2026` : letters.join("");
}

// A cell or label that an ellipsis cuts where it is too long; the whole name is its title.
function nameElement(tag, name) {
  const element = textElement(tag, shortened(name, 200), "name");
  element.title = printableName(name.slice(0, 2000));
  element.dir = "auto";
  return element;
}

// A collapsible part.
function detailsElement(title, open, ...content) {
  const details = document.createElement("details");
  details.open = open;
  details.append(textElement("summary", title), ...content);
  return details;
}

// What the glossary says of a metric, in one line.
function definitionOf(anchor) {
  const definition = document.getElementById(anchor)?.nextElementSibling;
  return definition?.textContent.replace(/\s+/g, " ").trim();
}

// The name of a metric, which leads to its definition in the glossary and has it as its title.
function metricLink(anchor, words) {
  const link = textElement("a", words, "metric");
  link.href = `#${anchor}`;
  link.title = definitionOf(anchor) ?? "";
  link.addEventListener("click", () => { document.getElementById("glossary").open = true; });
  return link;
}

// What the pointer is on, in words, beside the pointer. Names become text and nothing else.

class Tooltip {
  constructor(element) {
    this.element = element;
  }

  show(event, description) {
    fillDescription(this.element, description);
    this.element.hidden = false;
    const { width, height } = this.element.getBoundingClientRect();
    const right = event.clientX + 16 + width > window.innerWidth;
    const below = event.clientY + 16 + height > window.innerHeight;
    const x = right ? Math.max(4, event.clientX - 12 - width) : event.clientX + 16;
    const y = below ? Math.max(4, event.clientY - 12 - height) : event.clientY + 16;
    this.element.style.transform = `translate(${x}px, ${y}px)`;
  }

  hide() {
    this.element.hidden = true;
  }
}

// A head and lines of name and value.
function fillDescription(element, { head, lines }) {
  const list = document.createElement("dl");
  for (const [name, value] of lines) list.append(textElement("dt", name), textElement("dd", value));
  element.replaceChildren(textElement("b", head), list);
}

// Horizontal bars of parts, and what their colours mean.

const LEAST_SEPARATED = 0.005;  // a part that is narrower has no gap after it

// `parts`: {words, fill, share, text}; the rest of the bar up to 1 stays empty.
function stackedBar(parts) {
  const bar = mark("bar");
  for (const { words, fill, share, text } of parts) {
    if (!(share > 0)) continue;
    const part = document.createElement("i");
    part.style.width = `${100 * share}%`;
    part.style.background = fill;
    if (share > LEAST_SEPARATED) part.className = "wide-part";
    part.title = `${words}: ${text}`;
    bar.append(part);
  }
  return bar;
}

function barLegend(parts) {
  const line = captionLine();
  for (const { words, fill, text } of parts)
    line.append(colourEntry(fill, text ? `${words} ${noBreak(text)}` : words));
  return line;
}
