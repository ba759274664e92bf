// Several runs beside one another: each figure with its difference to the first run's.

function differenceTable(runs) {
  const table = document.createElement("table");
  table.className = "differences";
  const head = table.createTHead().insertRow();
  const add = (content) => {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.append(content);
    head.append(cell);
  };
  add("run");
  const known = (metric) => runs.some(({ summary }) => typeof metric.of(summary) === "number");
  const metrics = RUN_METRICS.filter((metric) =>
    known(metric) && !(metric.instead && known(metric.instead)));
  for (const metric of metrics) add(metricLink(metric.anchor, metric.name));
  const body = table.createTBody();
  for (const run of runs) {
    const line = body.insertRow();
    const name = line.insertCell();
    name.append(nameElement("b", run.name));
    for (const metric of metrics) line.append(differenceCell(metric, run, runs));
    const below = body.insertRow();
    below.className = "below";
    const details = below.insertCell();
    details.colSpan = metrics.length + 1;
    details.append(nameElement("small", run.details));
  }
  return table;
}

function differenceCell(metric, run, runs) {
  const { of, unit, better } = metric;
  const value = of(run.summary);
  const cell = document.createElement("td");
  const text = textElement("span", noBreak(formatQuantity(value, unit)));
  cell.append(text);
  const known = runs.map(({ summary }) => of(summary)).filter((one) => typeof one === "number");
  const best = better < 0 ? Math.min(...known) : Math.max(...known);
  if (value === best && known.some((one) => one !== best)) {
    text.className = "best";
    text.append(textElement("i", " \u2605"));
    text.title = "the best of these runs";
  }
  if (metric === MEMORY_PEAK) {
    const fullest = fullestOf(run.summary);
    if (fullest && ofCapacity(fullest) > 1)
      cell.append(warning(`does not fit: ${formatPercent(ofCapacity(fullest))} of capacity`));
  }
  const first = of(runs[0].summary);
  if (run === runs[0] || typeof value !== "number" || typeof first !== "number") return cell;
  if (value === first) {
    cell.append(textElement("small", "the same"));
    return cell;
  }
  const sign = value < first ? "\u2212" : "+";
  const relative = first !== 0 && unit !== "share"
    ? ` (${sign}${formatPercent(Math.abs(value - first) / Math.abs(first))})` : "";
  cell.append(textElement("small", noBreak(formatDifference(value - first, unit) + relative),
                          (value < first) === (better < 0) ? "good" : "bad"));
  return cell;
}
