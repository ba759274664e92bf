// Small elements that all pages use. Names come from users' files, so they are only ever inserted as
// text, never as markup.

import { noBreak } from "./units.js";

export function textElement(tag, text, className = "") {
  const element = document.createElement(tag);
  element.textContent = text;
  if (className) element.className = className;
  return element;
}

export function mark(className, tag = "span") {
  const element = document.createElement(tag);
  element.className = className;
  return element;
}

// A small legend sample that shows one or more colours side by side; `name` is the CSS class of
// each.
export function swatches(colours, name = "") {
  const element = mark("swatch");
  for (const colour of colours) {
    const field = mark(name, "i");
    if (colour) field.style.background = colour;
    element.append(field);
  }
  return element;
}

export const captionLine = () => mark("caption", "div");

// An entry of a legend: a colour and its meaning.
export function colourEntry(fill, words) {
  const entry = mark("entry");
  entry.append(swatches([fill]), words);
  return entry;
}

export function warning(text) {
  return textElement("strong", `\u26a0 ${text}`, "warning");
}

// Paragraphs with the expected errors of predictions, each once. `summaries` are objects with the member
// expected_error, which analysis/trace/evidence_json.hpp defines.
export function expectedErrorNotes(summaries) {
  const signed = (part) => `${part < 0 ? "\u2212" : "+"}${Math.abs(100 * part).toFixed(0)}`;
  const texts = summaries.filter(({ expected_error: error }) => error).map(({ expected_error: error }) =>
    `expected error ${signed(error.low)} .. ${signed(error.high)} % (${(100 * error.nominal).toFixed(0)} % of ` +
    `${error.rows} measured runs: ${shortened(error.basis, 200)})`);
  return [...new Set(texts)].map((text) => textElement("p", text, "expected-error"));
}

// Names in traces may have any length and content. Control characters, including those that change
// the direction of text, are replaced by U+FFFD.
export function printableName(name) {
  const invisible = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
  return name.replace(invisible, "\ufffd");
}

export function shortened(name, maxLetters) {
  const letters = [...printableName(name.slice(0, 4 * maxLetters))];
  if (letters.length <= maxLetters) return letters.join("");
  return `${letters.slice(0, maxLetters - 1).join("")}\u2026`;
}

// A cell or label with a name, shortened by an ellipsis if it is long; its title holds the full name.
export function nameElement(tag, name) {
  const element = textElement(tag, shortened(name, 200), "name");
  element.title = printableName(name.slice(0, 2000));
  element.dir = "auto";
  return element;
}

// A collapsible section.
export function detailsElement(title, open, ...content) {
  const details = document.createElement("details");
  details.open = open;
  details.append(textElement("summary", title), ...content);
  return details;
}

// The glossary's definition of a metric, in one line.
export function definitionOf(anchor) {
  const definition = document.getElementById(anchor)?.nextElementSibling;
  return definition?.textContent.replace(/\s+/g, " ").trim();
}

// The name of a metric as a link to its definition in the glossary, which is also its title.
export function metricLink(anchor, words) {
  const link = textElement("a", words, "metric");
  link.href = `#${anchor}`;
  link.title = definitionOf(anchor) ?? "";
  link.addEventListener("click", () => { document.getElementById("glossary").open = true; });
  return link;
}

// A box beside the pointer that describes the element under it.
export class Tooltip {
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

// Fills an element with a heading and lines of name and value.
export function fillDescription(element, { head, lines }) {
  const list = document.createElement("dl");
  for (const [name, value] of lines) list.append(textElement("dt", name), textElement("dd", value));
  element.replaceChildren(textElement("b", head), list);
}

// Stacked horizontal bars, and legends of their colours.

const MIN_SEPARATED_SHARE = 0.005;  // share of a bar; narrower parts have no gap after them

// A horizontal bar with one segment for each of `parts`: {words, fill, share, text}. Shares are
// relative to the whole bar; what remains is empty.
export function stackedBar(parts) {
  const bar = mark("bar");
  for (const { words, fill, share, text } of parts) {
    if (!(share > 0)) continue;
    const part = document.createElement("i");
    part.style.width = `${100 * share}%`;
    part.style.background = fill;
    if (share > MIN_SEPARATED_SHARE) part.className = "wide-part";
    part.title = `${words}: ${text}`;
    bar.append(part);
  }
  return bar;
}

export function barLegend(parts) {
  const line = captionLine();
  for (const { words, fill, text } of parts)
    line.append(colourEntry(fill, text ? `${words} ${noBreak(text)}` : words));
  return line;
}
