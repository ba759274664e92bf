// Tables that a click on a head sorts.

const paperListeners = [];
const onPaper = (change) => paperListeners.push(change);

// Paper has no buttons: what is cut on the screen is whole there.
function unfoldForPaper(printing) {
  for (const change of paperListeners) change(printing);
}

// `columns`: {head, anchor?, cell(row) -> element or text, value?(row) -> what to sort by}. The
// first shows `most` rows and a button for the rest.
function sortableTable(columns, rows, most = 16) {
  const table = document.createElement("table");
  const wide = mark("wide", "div");
  wide.append(table);
  const line = table.createTHead().insertRow();
  const body = table.createTBody();
  let order = rows;
  let limit = most;
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
  onPaper((now) => {
    // What is folded away is not printed.
    now &&= wide.closest("details:not([open])") === null;
    if (rows.length <= most || now === printing) return;
    printing = now;
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
      for (const other of line.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      order = [...rows].sort((a, b) => (down ? -1 : 1) * compare(column.value(a), column.value(b)));
      fill();
    };
    line.append(head);
  }
  fill();
  return wide;
}

// Unknown values come last when the largest come first.
function compare(a, b) {
  if (typeof a === "string" && typeof b === "string")
    return a.localeCompare(b, "en", { numeric: true });
  return (a ?? -Infinity) === (b ?? -Infinity) ? 0 : (a ?? -Infinity) - (b ?? -Infinity);
}

// No line ends between a number and its unit.
function noBreak(text) {
  return text.replace(/(\d) /g, "$1\u00a0");
}
