// Spans of time by device, each with a tone, from which the lines of a timeline are painted.

import { COLLECTIVES, CRITICAL_PARTS, NONE, firstAbove } from "../rows.js";
import { toneOf } from "./paints.js";

export class Spans {
  // `start`, `end`: times of the spans, grouped by device and in order of `start`; `first`: index
  // of each device's first span; `tone`: index of each span's colour; `reach`: latest end of a
  // device's spans up to and including each span.
  constructor({ first, start, end, tone, reach = latestEnds(first, end) }) {
    Object.assign(this, { first, start, end, tone, reach });
  }

  // The spans [low, high) of a device that may overlap a range of time.
  range(device, from, to) {
    const last = this.first[device + 1];
    const low = firstAbove(this.reach, this.first[device], last, from);
    return [low, firstAbove(this.start, low, last, to)];
  }

  // Number of spans in a range of time, over all devices.
  count(from, to) {
    let sum = 0;
    for (let device = 0; device + 1 < this.first.length; ++device) {
      const [low, high] = this.range(device, from, to);
      sum += high - low;
    }
    return sum;
  }

  // The last span of a device that covers a time, or NONE.
  at(device, time) {
    const [low, high] = this.range(device, time, time);
    for (let i = high - 1; i >= low; --i) if (this.end[i] >= time) return i;
    return NONE;
  }
}

function latestEnds(first, end) {
  const reach = new Float64Array(end.length);
  for (let device = 0; device + 1 < first.length; ++device)
    for (let i = first[device], latest = -Infinity; i < first[device + 1]; ++i)
      reach[i] = latest = Math.max(latest, end[i]);
  return reach;
}

// Groups rows by device and sorts them by start. Row i has `deviceOf[i]`, `start[i]` and `end[i]`;
// `row` of the result holds the row number of each span.
function sortedSpans(devices, deviceOf, start, end) {
  const count = start.length;
  const first = new Uint32Array(devices + 1);
  for (let i = 0; i < count; ++i) ++first[deviceOf[i] + 1];
  for (let device = 0; device < devices; ++device) first[device + 1] += first[device];
  const row = new Uint32Array(count);
  const next = first.slice();
  for (let i = 0; i < count; ++i) row[next[deviceOf[i]]++] = i;
  for (let device = 0; device < devices; ++device)
    sortByTime(row.subarray(first[device], first[device + 1]), start);
  const picked = (column) => {
    const values = new Float64Array(count);
    for (let k = 0; k < count; ++k) values[k] = column[row[k]];
    return values;
  };
  return { spans: { first, start: picked(start), end: picked(end) }, row };
}

// Sorts rows by insertion, which is fast if they are nearly in order, and falls back to sort().
function sortByTime(row, time) {
  let moves = 32 * row.length;
  for (let k = 1; k < row.length; ++k) {
    const current = row[k];
    let at = k;
    for (; at > 0 && time[row[at - 1]] > time[current]; --at) row[at] = row[at - 1];
    row[at] = current;
    moves -= k - at;
    if (moves < 0) return row.sort((a, b) => time[a] - time[b] || a - b);
  }
}

// Spans of the lanes, which are created when lanes are first shown.

export const LANE_NAMES = { out: "out", in: "in", collectives: "coll." };

// Names of the lanes that have rows in a run.
export function lanesOf({ transfers, collectives, steps }) {
  const names = transfers.count > 0 ? ["out", "in"] : [];
  return collectives.count + steps.count > 0 ? [...names, "collectives"] : names;
}

export function laneSpans(name, run) {
  const { transfers } = run.lanes;
  if (name === "collectives") return collectiveSpans(run);
  const { devices } = run.rows;
  const deviceOf = name === "out" ? transfers.source : new Uint32Array(transfers.count);
  if (name === "in")
    for (let device = 0; device < devices; ++device)
      deviceOf.fill(device, transfers.first[device], transfers.first[device + 1]);
  const { spans, row } = sortedSpans(devices, deviceOf, transfers.start, transfers.end);
  const tone = new Uint8Array(row.length);  // activation, gradient
  for (let k = 0; k < row.length; ++k) tone[k] = transfers.kind[row[k]];
  return { spans: new Spans({ ...spans, tone }), targetOf: (k) => ({ transfer: row[k] }) };
}

// Spans of the collectives lane: collectives, and the phases of the optimizer step at the end of
// each iteration.
function collectiveSpans(run) {
  const { collectives, steps } = run.lanes;
  const pieces = [];
  eachByDevice(collectives, (i, device) => pieces.push({
    device, start: collectives.start[i], end: collectives.end[i],
    name: COLLECTIVES[collectives.kind[i]], collective: i,
  }));
  const allReduced = new Map();  // by iteration: when the last device's gradients are reduced
  steps.iteration.forEach((iteration, i) =>
    allReduced.set(iteration, Math.max(allReduced.get(iteration) ?? 0, steps.reduced[i])));
  eachByDevice(steps, (i, device) => {
    const piece = (name, start, end) => {
      if (end > start) pieces.push({ device, start, end, name, step: i });
    };
    // The norm needs the gradients of all devices, so its span begins when the last ones are
    // reduced.
    const normStart = Math.max(steps.reduced[i], allReduced.get(steps.iteration[i]));
    piece("norm", normStart, steps.synchronized[i]);
    piece("optimizer", steps.synchronized[i], steps.updated[i]);
    piece("gather_weights", steps.updated[i], steps.end[i]);
  });
  const column = (name) => pieces.map((piece) => piece[name]);
  const { spans, row } =
    sortedSpans(run.rows.devices, column("device"), column("start"), column("end"));
  const tone = Uint8Array.from(row, (i) => toneOf(pieces[i].name));
  return { spans: new Spans({ ...spans, tone }), targetOf: (k) => pieces[row[k]] };
}

// Calls visit(row, device) for each row of a table that is grouped by device.
export function eachByDevice({ first }, visit) {
  for (let device = 0; device + 1 < first.length; ++device)
    for (let i = first[device]; i < first[device + 1]; ++i) visit(i, device);
}

const LANE_OF_PART = {
  weights: "gather_weights", gradients: "reduce_gradients", embeddings: "tie_embeddings",
  norm: "norm", optimizer: "optimizer",
};

// Returns a function that tells whether a span of the collectives lane is on the critical path.
export function collectivesOnPath({ part, device, end }) {
  const pieces = new Map();  // by device and name: {start, end}
  for (let i = 0; i < part.length; ++i) {
    const name = LANE_OF_PART[CRITICAL_PARTS[part[i]]];
    if (!name) continue;
    const key = `${device[i]} ${name}`;
    if (!pieces.has(key)) pieces.set(key, []);
    pieces.get(key).push({ start: i > 0 ? end[i - 1] : 0, end: end[i] });
  }
  return (span) => (pieces.get(`${span.device} ${span.name}`) ?? [])
    .some((piece) => piece.start < span.end && span.start < piece.end);
}
