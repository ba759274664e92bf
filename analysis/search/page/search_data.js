// The candidates of a search as columns of numbers; page_columns.hpp describes the bytes.

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
  const reals = ["candidate", "cost", "throughput", "seconds", "bound", "mfu", "bubble",
                 "spanBubble", "peak", "capacity", "gpus"];
  const rows = { count };
  for (const name of reals) rows[name] = column(Float64Array);
  rows.parts = search.parts.map(() => column(Float64Array));
  rows.note = column(Uint32Array);
  rows.group = column(Uint16Array);
  rows.axes = search.axes.map(() => column(Uint16Array));
  rows.outcome = column(Uint8Array);
  return rows;
}

// Scenarios by row, unpacked when the first is asked for.
let scenarioTexts = null;
async function scenarioOf(row) {
  scenarioTexts ??= unpackBytes(document.getElementById("scenarios").textContent)
    .then((bytes) => new Map(JSON.parse(new TextDecoder().decode(bytes))));
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
