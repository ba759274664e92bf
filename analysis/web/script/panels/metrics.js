// Metrics of a run, with the definitions of metrics.md and the names of `--json`.

import {
  mark, metricLink, nameElement, textElement, warning
} from "../elements.js";
import { page } from "../page_data.js";
import { sortableTable } from "../tables.js";
import {
  formatBytes, formatPercent, formatRate, formatSeconds, formatSecondsAs, noBreak
} from "../units.js";

// `better`: -1 if smaller values are better, 1 if larger ones are. `of`: function that takes a
// metric's value from a run's summary. `instead`: metric that is shown in place of this one if its
// value is known.
const metric = (anchor, name, unit, better, of, instead) =>
  ({ anchor, name, unit, better, of, instead });

const TOKENS = metric("throughput", "tokens", "tokens/s", 1, (run) => run.tokens_per_s);
const MEMORY_PEAK = metric("memory-peak", "memory peak", "bytes", -1,
                           (run) => largestPeak(run)?.peak_memory_bytes ?? null);
export const RUN_METRICS = [
  metric("makespan", "time", "s", -1, (run) => run.makespan_s),
  metric("throughput", "samples", "samples/s", 1, (run) => run.samples_per_s, TOKENS),
  TOKENS,
  metric("mfu", "MFU", "share", 1, (run) => run.mfu),
  metric("bubble-ratio", "bubble ratio", "share", -1, (run) => run.bubble_ratio),
  metric("span-bubble", "span bubble", "s", -1, (run) => run.span_bubble_s),
  metric("exposed-communication", "exposed communication", "s", -1,
         (run) => run.exposed_communication_s),
  MEMORY_PEAK,
  metric("traffic", "p2p traffic", "bytes", -1, (run) => run.p2p_bytes),
];

// Formats a value; times have the unit of `largest`, so that the times of a column compare.
export function formatQuantity(value, unit, largest = value) {
  if (value === null || value === undefined) return "\u2013";
  if (unit === "s") return formatSecondsAs(value, largest);
  if (unit === "bytes") return formatBytes(value);
  if (unit === "share") return formatPercent(value);
  return formatRate(value, unit.replace(/\/s$/, ""));
}

// Formats a difference with its sign; differences of shares are in percentage points.
export function formatDifference(difference, unit, largest) {
  const sign = difference < 0 ? "\u2212" : "+";
  const size = Math.abs(difference);
  const text = unit === "share" ? `${(size * 100).toFixed(1)} points`
                                 : formatQuantity(size, unit, largest);
  return `${sign}${text}`;
}

// Returns a function for Array.reduce() that finds the device with the largest value.
const byLargest = (value) => (best, device) =>
  (best === null || value(device) > value(best) ? device : best);

// The device with the largest memory peak; null if memory is unknown.
function largestPeak(run) {
  const device = run.devices.reduce(byLargest((candidate) => candidate.peak_memory_bytes), null);
  return device?.peak_memory_bytes > 0 ? device : null;
}

// The device with the highest share of its capacity in use; null if no capacity is known.
function fullestOf(run) {
  const limited = run.devices.filter((device) => device.memory_capacity_bytes > 0);
  return limited.reduce(byLargest(capacityShare), null);
}

const capacityShare = (device) => device.peak_memory_bytes / device.memory_capacity_bytes;

// Cards with the main metrics of a run.
export function runCards(run) {
  const { summary } = run;
  const cards = mark("cards", "div");
  const add = (anchor, name, value, ...notes) => {
    const card = mark("card", "div");
    card.append(metricLink(anchor, name), textElement("b", noBreak(value)));
    for (const note of notes) if (note) card.append(textElement("small", noBreak(note)));
    cards.append(card);
    return card;
  };

  const iterations = run.iterations > 1 ? `of ${run.iterations} iterations` : "of an iteration";
  const teraflops = () => (summary.model_flops_per_gpu / 1e12).toFixed(1);
  add("makespan", "time", formatSeconds(summary.makespan_s), iterations);
  if (summary.tokens_per_s !== null)
    add("throughput", "throughput", formatRate(summary.tokens_per_s, "tokens"),
        summary.samples_per_s === null ? "" : formatRate(summary.samples_per_s, "samples"));
  else if (summary.samples_per_s !== null)
    add("throughput", "throughput", formatRate(summary.samples_per_s, "samples"));
  if (summary.mfu !== null)
    add("mfu", "MFU", formatPercent(summary.mfu), `${teraflops()} TFLOP/s a GPU, causal`);
  else if (summary.model_flops_per_gpu !== null)
    add("mfu", "TFLOP/s a GPU", teraflops());
  add("bubble-ratio", "bubble ratio", formatPercent(summary.bubble_ratio),
      `span bubble ${formatSeconds(summary.span_bubble_s)}`);
  const exposed = summary.exposed_communication_s;
  add("exposed-communication", "exposed communication", formatSeconds(exposed),
      summary.makespan_s > 0 ? `${formatPercent(exposed / summary.makespan_s)} of time` : "");
  addMemory(summary, add);
  return cards;
}

function addMemory(summary, add) {
  const largest = largestPeak(summary);
  if (!largest) return;
  const fullest = fullestOf(summary);
  const share = fullest && capacityShare(fullest);
  const card = add("memory-peak", "memory peak", formatBytes(largest.peak_memory_bytes),
    fullest ? `${formatPercent(share)} of ${formatBytes(fullest.memory_capacity_bytes)}` : "");
  if (!fullest) return;
  const meter = mark("meter");
  const filled = document.createElement("i");
  filled.style.width = `${Math.min(100, 100 * share)}%`;
  meter.append(filled);
  card.append(meter);
  const over = summary.devices.filter((device) =>
    device.memory_capacity_bytes > 0 && device.peak_memory_bytes > device.memory_capacity_bytes);
  if (over.length === 0) return;
  card.classList.add("over");
  card.append(warning(`does not fit on ${over.length} of ${summary.devices.length} devices`));
}

// Table of several runs: each metric with its difference to the first run. Concurrent jobs have no
// differences, since they are not alternatives.
export function differenceTable(runs) {
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
  const hasValue = (metric) => runs.some(({ summary }) => typeof metric.of(summary) === "number");
  const metrics = RUN_METRICS.filter((metric) =>
    hasValue(metric) && !(metric.instead && hasValue(metric.instead)));
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
  const values = runs.map(({ summary }) => of(summary)).filter((x) => typeof x === "number");
  const largest = Math.max(...values.map(Math.abs));
  const text = textElement("span", noBreak(formatQuantity(value, unit, largest)));
  cell.append(text);
  const best = better < 0 ? Math.min(...values) : Math.max(...values);
  if (!page.at_once && value === best && values.some((x) => x !== best)) {
    text.className = "best";
    text.append(textElement("i", " \u2605"));
    text.title = "the best of these runs";
  }
  if (metric === MEMORY_PEAK) {
    const fullest = fullestOf(run.summary);
    if (fullest && capacityShare(fullest) > 1)
      cell.append(warning(`does not fit: ${formatPercent(capacityShare(fullest))} of capacity`));
  }
  const first = of(runs[0].summary);
  if (page.at_once || run === runs[0]) return cell;
  if (typeof value !== "number" || typeof first !== "number") return cell;
  if (value === first) {
    cell.append(textElement("small", "the same"));
    return cell;
  }
  const sign = value < first ? "\u2212" : "+";
  const relative = first !== 0 && unit !== "share"
    ? ` (${sign}${formatPercent(Math.abs(value - first) / Math.abs(first))})` : "";
  cell.append(textElement("small", noBreak(formatDifference(value - first, unit, largest) + relative),
                          (value < first) === (better < 0) ? "good" : "bad"));
  return cell;
}

// Table of a run's devices: how they spend their time, and their memory.
export function deviceTable(run) {
  const { summary } = run;
  const total = summary.makespan_s;
  const devices = summary.devices.map((device) => ({
    ...device,
    idle: total > 0 ? 1 - device.busy_s / total : 0,
    span: device.end_s - device.start_s - device.busy_s,
    capacity: device.memory_capacity_bytes ? capacityShare(device) : null,
  }));
  const column = (head, anchor, value, text) => ({
    head, anchor, value,
    cell: (device) => (value(device) === null ? "\u2013" : text(value(device))),
  });
  const seconds = (head, anchor, value) => column(head, anchor, value, formatSeconds);
  const any = (value) => devices.some((device) => value(device) > 0);
  const parts = [
    ["exposed p2p", (device) => device.exposed.p2p_s],
    ["in passes", (device) => device.exposed.in_passes_s],
    ["gradients", (device) => device.exposed.gradients_s],
    ["weights", (device) => device.exposed.weights_s],
  ].filter(([, value]) => any(value));
  const columns = [
    column("device", null, (device) => device.device, String),
    ...(run.hosts.some((host) => host !== "")
      ? [{ head: "host", value: (device) => device.host,
           cell: (device) => nameElement("span", device.host) }] : []),
    column("passes", null, (device) => device.passes, String),
    seconds("busy", "busy", (device) => device.busy_s),
    column("idle", "idle", (device) => device.idle, formatPercent),
    ...parts.map(([head, value]) => seconds(head, "exposed-communication", value)),
    seconds("exposed", "exposed-communication", (device) => device.exposed_communication_s),
    ...(any((device) => device.optimizer_step_s)
      ? [seconds("optimizer step", "optimizer-step", (device) => device.optimizer_step_s)] : []),
    seconds("span bubble", "span-bubble", (device) => rounded(device.span, total)),
    column("in flight", "in-flight", (device) => device.peak_in_flight,
           (count) => String(Number(count.toFixed(2)))),
    ...(any((device) => device.peak_memory_bytes)
      ? [column("memory peak", "memory-peak", (device) => device.peak_memory_bytes, formatBytes)]
      : []),
    ...(any((device) => device.capacity ?? 0)
      ? [{ ...column("of capacity", "memory-peak", (device) => device.capacity, formatPercent),
           cell: (device) => capacityCell(device.capacity) }] : []),
  ];
  return sortableTable(columns, devices);
}

// Replaces a sum of times that is only rounding error by zero.
const rounded = (seconds, total) => (Math.abs(seconds) < 1e-12 * total ? 0 : seconds);

function capacityCell(share) {
  if (share === null) return "\u2013";
  const text = formatPercent(share);
  return share > 1 ? warning(text) : text;
}
