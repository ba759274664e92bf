// The candidates of a search as columns of numbers; search_page.hpp describes the bytes.

const search = JSON.parse(document.getElementById("data").textContent);

const OUTCOME = { open: 0, illegal: 1, doesNotFit: 2, boundedAway: 3, simulated: 4, failed: 5 };

async function loadRows() {
  const bytes = await unpackBytes(document.getElementById("rows").textContent);
  const { buffer } = bytes;
  const count = search.rows;
  let at = 0;
  const column = (Type) => {
    const values = new Type(buffer, at, count);
    at += values.byteLength;
    return values;
  };
  const rows = { count };
  for (const name of search.columns) rows[name] = column(Float64Array);
  rows.parts = search.parts.map(() => column(Float64Array));
  rows.note = column(Uint32Array);
  rows.group = column(Uint16Array);
  rows.assumed = column(Uint16Array);
  rows.axes = search.axes.map(() => column(Uint16Array));
  rows.outcome = column(Uint8Array);
  return rows;
}

// Scenarios by row, unpacked when the first is asked for.
let scenarioTexts = null;
async function scenarioOf(row) {
  scenarioTexts ??= unpackBytes(document.getElementById("scenarios").textContent)
    .then((bytes) => new Map(JSON.parse(new TextDecoder().decode(bytes))
      .map(([of, text, launches]) => [of, {text, launches: launches ?? []}])));
  return (await scenarioTexts).get(row);
}

// Axes that leave a choice, by their place.
const openAxes = search.axes.map((_, axis) => axis)
  .filter((axis) => search.axes[axis].values.length > 1);

const isWhole = (axis) => search.axes[axis].values.every((text) => /^-?\d{1,15}$/.test(text));

const indices = (count, keep) => {
  const kept = [];
  for (let i = 0; i < count; ++i) if (keep(i)) kept.push(i);
  return kept;
};

// Candidates and their figures in words.

const axisName = (axis) => shortened(search.axes[axis].name, 40);
const valueText = (axis, value) => shortened(search.axes[axis].values[value], 60);

function axisWords(rows, row) {
  const words = openAxes.map((axis) => `${axisName(axis)} ${valueText(axis, rows.axes[axis][row])}`);
  return words.join(", ") || "the only candidate";
}

function formatDuration(seconds) {
  if (seconds >= 2 * 86400) return `${Number((seconds / 86400).toPrecision(4))} days`;
  if (seconds >= 2 * 3600) return `${Number((seconds / 3600).toPrecision(4))} h`;
  return formatSeconds(seconds);
}

function formatMoney(amount) {
  const currency = printableName(search.objective.currency);
  const number = amount < 1000 ? amount.toFixed(2)
    : bareRate(amount);
  return /[A-Za-z0-9]$/.test(currency) ? `${number} ${currency}` : `${currency}${number}`;
}

const objectiveTexts = {
  throughput: (cost) => formatRate(1 / cost, search.objective.unit),
  mfu: (cost) => formatPercent(1 / cost),
  time_to_train: formatDuration,
  price: formatMoney,
  memory: formatBytes,
  tokens_a_day: (cost) => `${formatScaled(1 / cost)} ${search.objective.unit} a day`,
};
const objectiveText = (cost) => (cost > 0 ? objectiveTexts[search.objective.kind](cost) : "not known");
const objectiveName = { time_to_train: "time to train", price: "price", tokens_a_day: "a day" }[
  search.objective.kind];
const moreIsBetter = ["throughput", "mfu", "tokens_a_day"].includes(search.objective.kind);

// As findings.hpp defines it.
function behind(cost, best) {
  if (!(best > 0) || cost === best) return 0;
  return moreIsBetter ? 1 - best / cost : cost / best - 1;
}

// What a candidate rests on, and the marks of its figures.
const assumedOf = (rows, row) => search.assumed[rows.assumed[row]];
const aboutTime = (rows, row) => timeMark(assumedOf(rows, row));
const aboutObjective = (rows, row) =>
  (search.objective.kind === "memory" ? "" : aboutTime(rows, row));
const assumedNotesOf = (rows, list) =>
  assumedNotes(list.map((row) => assumedOf(rows, row)), search.assumed_words);

// A count, in thousands, millions and billions.
const formatScaled = (value) => bareRate(value).replace("G", "B");
const bareRate = (perSecond) => formatRate(perSecond, "").replace(/ ?\/s$/, "");

// Of weeks, the part that is training which lasts: what is done in a day for what would be done.
const effectivePart = (rows, row) => (search.objective.kind === "tokens_a_day" && rows.cost[row] > 0
  ? 1 / (rows.cost[row] * rows.throughput[row] * 86400) : 0);

// What can go up a chart. Rows that lack it have 0; ticks say what `title` leaves out.
function measures(rows) {
  const { unit } = search.objective;
  const all = [
    { name: "throughput", title: `throughput (${unit}/s)`, value: (row) => rows.throughput[row],
      up: true, tick: bareRate },
    { name: "MFU", title: "MFU", value: (row) => rows.mfu[row], up: true,
      tick: (value) => `${Number((100 * value).toPrecision(4))} %` },
    { name: "iteration", title: "time of an iteration", value: (row) => rows.seconds[row], up: false,
      tick: (value) => formatSeconds(value).replace(/\.?0+ /, " ") },
  ];
  if (objectiveName && moreIsBetter)
    all.unshift({ name: objectiveName, title: `${unit} a day`, up: true, tick: formatScaled,
                  value: (row) => (rows.cost[row] > 0 ? 1 / rows.cost[row] : 0) });
  else if (objectiveName)
    all.push({ name: objectiveName, title: search.objective.name,
               value: (row) => rows.cost[row], up: false, tick: objectiveText });
  return all.filter(({ value }) => indices(rows.count, (row) => value(row) > 0).length > 0);
}

function memoryWords(rows, row) {
  const peak = rows.peak[row];
  if (!(peak > 0)) return "";
  const capacity = rows.capacity[row];
  const about = capacityMark(assumedOf(rows, row));
  return capacity > 0 ? `${formatBytes(peak)} of ${about}${formatBytes(capacity)}` : formatBytes(peak);
}

// Name and value of all that is known of a candidate.
function figureLines(rows, row, best) {
  const lines = [];
  const outcome = rows.outcome[row];
  const simulated = outcome === OUTCOME.simulated;
  const about = aboutTime(rows, row);
  const upTo = simulated ? about : "at best ";
  if (!simulated) lines.push(["outcome", search.outcomes[outcome]]);
  const note = search.notes[rows.note[row]];
  if (note) lines.push(["reason", shortened(note, 300)]);
  if (rows.throughput[row] > 0)
    lines.push(["throughput", upTo + formatRate(rows.throughput[row], search.objective.unit)]);
  if (objectiveName && rows.cost[row] > 0)
    lines.push([objectiveName, upTo + objectiveText(rows.cost[row])]);
  const effective = effectivePart(rows, row);
  if (effective > 0)
    lines.push(["effective time", (simulated ? "" : "at best ") + formatPercent(effective)]);
  if (best !== null && best !== row && rows.cost[row] > 0 && simulated)
    lines.push(["behind", formatPercent(behind(rows.cost[row], rows.cost[best]))]);
  if (rows.mfu[row] > 0) lines.push(["MFU", upTo + formatPercent(rows.mfu[row])]);
  if (rows.seconds[row] > 0)
    lines.push(["iteration", (simulated ? about : "at least ") + formatSeconds(rows.seconds[row])]);
  if (simulated) {
    lines.push(["bubble ratio", formatPercent(rows.bubble[row])]);
    if (rows.bound[row] > 0) lines.push(["its bound", about + formatSeconds(rows.bound[row])]);
  }
  if (rows.peak[row] > 0) lines.push(["memory", memoryWords(rows, row)]);
  if (rows.gpus[row] > 0) lines.push(["GPUs", String(rows.gpus[row])]);
  lines.push(["candidate", String(rows.candidate[row])]);
  return lines;
}
