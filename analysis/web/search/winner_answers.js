// Answers to questions about the winner. The data has their parts: headings, sentences, items of lists and
// tables (analysis/report/search/answer_report.hpp).

import { mark, printableName, textElement } from "../script/elements.js";

const capitalized = (words) => words.slice(0, 1).toUpperCase() + words.slice(1);
// Adds a full stop, and a capital unless the first word may be a name.
const asSentence = (words) =>
  (/^[a-z]+ /.test(words) ? capitalized(words) : words) + (/[.?!]$/.test(words) ? "" : ".");

function tableElement({ headings, rows }) {
  const table = document.createElement("table");
  if (headings.some(Boolean)) {
    const head = table.createTHead().insertRow();
    for (const words of headings) {
      const cell = textElement("th", printableName(words));
      cell.scope = "col";
      head.append(cell);
    }
  }
  const body = table.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    for (const cell of row) line.append(textElement("td", printableName(cell)));
  }
  const wide = mark("wide", "div");
  wide.append(table);
  return wide;
}

function scriptElement({ text, script }) {
  const details = document.createElement("details");
  details.append(textElement("summary", text), textElement("pre", script));
  return details;
}

function itemWords({ text, details }) {
  return printableName(details.length > 0 ? `${text}: ${details.join(", ")}` : text);
}

export function fillWinnerAnswers(place, parts) {
  const blocks = [];
  const addItem = (tag, words) => {
    if (blocks.at(-1)?.tagName !== tag.toUpperCase()) blocks.push(document.createElement(tag));
    blocks.at(-1).append(textElement("li", words));
  };
  const add = {
    heading: ({ text }) => blocks.push(textElement("h3", capitalized(printableName(text)))),
    sentence: ({ text }) => blocks.push(textElement("p", asSentence(printableName(text)))),
    item: (part) => addItem("ul", itemWords(part)),
    "numbered item": ({ text }) => addItem("ol", printableName(text)),
    table: (part) => blocks.push(tableElement(part)),
    script: (part) => blocks.push(scriptElement(part)),
  };
  for (const part of parts) add[part.kind](part);
  place.replaceChildren(...blocks);
}
