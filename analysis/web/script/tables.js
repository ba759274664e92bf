// Tables that are sorted by a click on a column heading.

import { definitionOf, mark, textElement } from "./elements.js";
import { noBreak } from "./units.js";

const printListeners = [];
export const onPrint = (change) => printListeners.push(change);

// Shows all rows of a table while the page is printed, since paper has no buttons.
export function showAllRowsForPrint(printing) {
  for (const change of printListeners) change(printing);
}

// A table with `columns`: {head, anchor?, cell(row) -> element or text, value(row) -> sort key}.
// Shows the first `maxRows` rows and a button for the rest.
export function sortableTable(columns, rows, maxRows = 16) {
  const table = document.createElement("table");
  const wide = mark("wide", "div");
  wide.append(table);
  const line = table.createTHead().insertRow();
  const body = table.createTBody();
  let order = rows;
  let limit = maxRows;
  let printing = false;

  const fill = () => {
    const shown = printing ? Infinity : limit;
    body.replaceChildren(...order.slice(0, shown).map((row) => {
      const line = document.createElement("tr");
      for (const column of columns) {
        const cell = column.cell(row);
        const field = document.createElement("td");
        field.append(typeof cell === "string" ? noBreak(cell) : cell);
        line.append(field);
      }
      return line;
    }));
    more.hidden = order.length <= shown;
  };
  const more = textElement("button", `show all ${rows.length}`);
  more.onclick = () => {
    limit = Infinity;
    fill();
  };
  wide.append(more);
  onPrint((isPrinting) => {
    // A table in a closed section is not printed, so it needs no further rows.
    isPrinting &&= wide.closest("details:not([open])") === null;
    if (rows.length <= maxRows || isPrinting === printing) return;
    printing = isPrinting;
    fill();
  });

  for (const column of columns) {
    const head = document.createElement("th");
    head.scope = "col";
    const button = textElement("button", column.head, "sorter");
    head.append(button);
    if (rows.length > 0 && typeof column.value(rows[0]) === "string") head.className = "text";
    if (column.anchor) button.title = definitionOf(column.anchor) ?? "";
    button.onclick = () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      for (const cell of line.cells) cell.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      order = [...rows].sort((a, b) => (down ? -1 : 1) * compare(column.value(a), column.value(b)));
      fill();
    };
    line.append(head);
  }
  fill();
  return wide;
}

// Orders sort keys; unknown values count as the smallest.
function compare(a, b) {
  if (typeof a === "string" && typeof b === "string")
    return a.localeCompare(b, "en", { numeric: true });
  return (a ?? -Infinity) === (b ?? -Infinity) ? 0 : (a ?? -Infinity) - (b ?? -Infinity);
}
