// The rows of a run as columns of numbers; row_columns.hpp describes the bytes. Times are ticks.

const KINDS = 5;  // F, I, W, B, R
const FORWARD = 0;

function decodeRows(bytes, devices) {
  const { signeds, offsets } = varints(bytes);
  const first = offsets(devices);
  const count = first[devices];
  const start = new Float64Array(count);
  const end = new Float64Array(count);
  const released = new Float64Array(count);
  const ready = new Float64Array(count);
  // Columns hold differences at first, which add up in place; unsigned ones wrap as they should.
  signeds(start);
  signeds(end);
  for (let device = 0; device < devices; ++device) {
    let previous = 0;
    for (let i = first[device]; i < first[device + 1]; ++i) {
      start[i] += previous;
      previous = end[i] += start[i];
    }
  }
  signeds(released);
  for (let i = 0; i < count; ++i) released[i] += end[i];
  signeds(ready);
  for (let i = 0; i < count; ++i) ready[i] = start[i] - ready[i];

  const kind = signeds(new Uint8Array(count));
  const names = { stage: null, chunk: null, microbatch: null, iteration: null };
  for (let device = 0; device < devices; ++device) {
    let previous = 0;
    for (let i = first[device]; i < first[device + 1]; ++i) previous = kind[i] += previous;
  }
  for (const name of Object.keys(names)) {
    const column = (names[name] = signeds(new Uint32Array(count)));
    for (let device = 0; device < devices; ++device) {
      const previous = new Float64Array(KINDS);
      for (let i = first[device]; i < first[device + 1]; ++i)
        previous[kind[i]] = column[i] = previous[kind[i]] + column[i];
    }
  }

  const partner = pairs(first, start, end);
  return { devices, count, first, start, end, released, ready, kind, ...names, partner };
}

// Of every row, where its partner is: 1 after it, -1 before it; 0 for those that ran alone. Passes
// that were fused start and end together.
function pairs(first, start, end) {
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

// Of a pair the forward is drawn above and the backward below.
const isUpper = (rows, i) => rows.kind[i] === FORWARD;

// The first of the indices [low, high) whose value is greater than `limit`, or `high`.
function firstAbove(column, low, high, limit) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (column[middle] > limit) high = middle;
    else low = middle + 1;
  }
  return low;
}
