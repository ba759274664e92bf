// Rows of a run. Times are in ticks. Passes and transfers are identified by their index over all
// devices; -1 stands for none. Enumerations come with the page's data, in the order of their values.

import { page } from "./page_data.js";

export const perSecond = 10 ** page.tick_digits;
export const NONE = -1;
export const KINDS = page.kinds.map(({ letter }) => letter.toLowerCase());
const FORWARD = KINDS.indexOf("f");
export const IDLE_CAUSES = page.enumerations.idle_causes;
export const CRITICAL_PARTS = page.enumerations.critical_parts;
export const TRAFFIC = page.enumerations.traffic;
export const COLLECTIVES = page.enumerations.collectives;

// Rows of a run's tables, together with columns derived from them.
export function rowsOf(tables) {
  const { passes, transfers, collectives, steps, idle, critical_path: critical } = tables;
  const rows = { ...passes, devices: passes.first.length - 1, partner: partnersOf(passes) };
  transfers.input = new Int32Array(rows.count).fill(NONE);  // of each pass
  for (let i = 0; i < transfers.count; ++i)
    if (transfers.taker[i] !== NONE) transfers.input[transfers.taker[i]] = i;
  markCriticalPath(critical, rows, transfers);
  const lanes = { transfers, collectives, steps, idle, critical, waits: waitsOf(tables.stages),
                  paths: pathsOf(tables.paths) };
  return { rows, lanes, memory: memoryOf(tables.memory), use: tables.link_use };
}

// Offset from each pass to its partner in a fused pair, which has the same start and end: 1 or -1;
// 0 for a pass that is not fused.
function partnersOf({ first, start, end }) {
  const partner = new Int8Array(start.length);
  for (let device = 0; device + 1 < first.length; ++device)
    for (let i = first[device] + 1; i < first[device + 1]; ++i) {
      if (partner[i - 1] !== 0 || start[i] === end[i]) continue;
      if (start[i] !== start[i - 1] || end[i] !== end[i - 1]) continue;
      partner[i - 1] = 1;
      partner[i] = -1;
    }
  return partner;
}

// Marks the passes and transfers on the critical path.
function markCriticalPath(critical, rows, transfers) {
  critical.passes = new Uint8Array(rows.count);
  critical.transfers = new Uint8Array(transfers.count);
  for (let i = 0; i < critical.count; ++i) {
    const pass = critical.pass[i];
    if (pass === NONE) continue;
    critical.passes[pass] = 1;
    // If the critical path reaches this pass through a transfer, it is the transfer of its input.
    const before = i > 0 ? CRITICAL_PARTS[critical.part[i - 1]] : "";
    const input = transfers.input[pass];
    if ((before === "transfer" || before === "rendezvous") && input !== NONE)
      critical.transfers[input] = 1;
  }
}

// Returns how long passes wait for collectives inside them, in ticks by kind of pass, for each
// stage and device.
function waitsOf(stages) {
  const byKind = KINDS.map((kind) => stages[`waits_${kind}`]);
  const waits = new Map();
  for (let i = 0; i < stages.count; ++i)
    waits.set(`${stages.stage[i]} ${stages.device[i]}`, byKind.map((column) => column[i]));
  return waits;
}

// Returns, for each path between devices, its narrowest link and the duration of a transfer that
// has the path to itself.
function pathsOf({ count, traffic, source, destination, stage, link, alone }) {
  const paths = new Map();
  for (let i = 0; i < count; ++i)
    paths.set(`${TRAFFIC[traffic[i]]} ${source[i]} ${destination[i]} ${stage[i]}`,
              { link: link[i], alone: alone[i] });
  return paths;
}

// Memory changes of all devices. `held`: bytes in the row's category from that time on; `bytes`:
// bytes of all categories together.
function memoryOf({ count, first, time, category, bytes: held }) {
  const bytes = new Float64Array(count);
  for (let device = 0; device + 1 < first.length; ++device) {
    const now = new Float64Array(page.categories.length);
    let total = 0;
    for (let i = first[device]; i < first[device + 1]; ++i) {
      bytes[i] = total += held[i] - now[category[i]];
      now[category[i]] = held[i];
    }
  }
  return { first, time, category, held, bytes };
}

// The forward of a fused pair is drawn above its backward.
export const isUpper = (rows, i) => rows.kind[i] === FORWARD;

// The first index in [low, high) whose value exceeds `limit`, or `high` if there is none.
export function firstAbove(column, low, high, limit) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (column[middle] > limit) high = middle;
    else low = middle + 1;
  }
  return low;
}
