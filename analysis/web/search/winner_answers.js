// Answers to questions about the winner, which the data holds as the terminal's text: headings,
// indented findings, numbered candidates, and tables whose columns are separated by blanks.

import { mark, printableName, textElement } from "../script/elements.js";

const columnGaps = (line) => (line.match(/\S {2,}(?=\S)/g) ?? []).length;
const isTableRow = (line) => columnGaps(line) >= 2;

// Returns the line after the table that begins at line `begin`, or `begin` if no table begins
// there. The first lines of a heading may look unlike table rows, but are indented by three blanks
// or more.
function tableEnd(lines, begin) {
  let end = begin;
  for (let i = begin; i < lines.length; ++i) {
    if (isTableRow(lines[i])) end = i + 1;
    else if (end > begin || !lines[i].startsWith("   ")) break;
  }
  return end;
}

// Splits the lines of a table into cells at the positions that are blank in all lines.
function splitColumns(lines) {
  const width = Math.max(...lines.map((line) => line.length));
  const isBlank = (at) => lines.every((line) => (line[at] ?? " ") === " ");
  const begins = [];
  for (let at = 0; at < width; ++at)
    if (!isBlank(at) && (begins.length === 0 || (isBlank(at - 1) && isBlank(at - 2)))) begins.push(at);
  return lines.map((line) => begins.map((begin, k) => line.slice(begin, begins[k + 1]).trim()));
}

// Makes an HTML table; the first row with a number in it ends the heading.
function tableOfLines(lines) {
  const rows = splitColumns(lines);
  const isData = (row) => row.some((cell) => /^[~+-]?\d/.test(cell));
  const headings = Math.max(0, rows.findIndex(isData));
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  rows[0].forEach((_, column) => {
    const words = rows.slice(0, headings).map((row) => row[column]);
    const cell = textElement("th", words.filter(Boolean).join(" "));
    cell.scope = "col";
    head.append(cell);
  });
  const body = table.createTBody();
  for (const row of rows.slice(headings)) {
    const line = body.insertRow();
    for (const cell of row) line.append(textElement("td", cell));
  }
  const wide = mark("wide", "div");
  wide.append(table);
  return wide;
}

const capitalized = (words) => words.slice(0, 1).toUpperCase() + words.slice(1);
// Adds a full stop, and a capital unless the first word may be a name.
const asSentence = (words) =>
  (/^[a-z]+ /.test(words) ? capitalized(words) : words) + (/[.?!]$/.test(words) ? "" : ".");

export function fillWinnerAnswers(place, text) {
  const lines = text.split("\n");
  const blocks = [];
  const listOf = (tag) => {
    if (blocks.at(-1)?.tagName !== tag.toUpperCase()) blocks.push(document.createElement(tag));
    return blocks.at(-1);
  };
  let last = null;  // the list item that an indented line continues
  for (let i = 0; i < lines.length; ++i) {
    const line = lines[i];
    const words = printableName(line.trim());
    const end = tableEnd(lines, i);
    const numbered = line.match(/^ {2}(\d+) {2}(\S.*)$/);
    if (words === "") {
      last = null;
    } else if (end > i) {
      blocks.push(tableOfLines(lines.slice(i, end).map(printableName)));
      i = end - 1;
    } else if (numbered) {
      last = textElement("li", printableName(numbered[2]));
      last.value = Number(numbered[1]);
      listOf("ol").append(last);
    } else if (line.startsWith("    ") && last) {
      const isDetail = /^[+-]\d/.test(words) && !last.textContent.endsWith(",");
      last.textContent += (isDetail ? ": " : " ") + words;
    } else if (line.startsWith(" ")) {
      last = textElement("li", words);
      listOf("ul").append(last);
    } else if (i === 0 || lines[i - 1] === "") {
      const [, heading, rest] = words.match(/^([^?]*\?)? ?(.*)$/);
      blocks.push(textElement("h3", capitalized(heading ?? rest)));
      if (heading && rest) blocks.push(textElement("p", asSentence(rest)));
    } else {
      blocks.push(textElement("p", asSentence(words)));
    }
  }
  place.replaceChildren(...blocks);
}
