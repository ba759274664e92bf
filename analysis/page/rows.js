// The rows of a run as columns of numbers; row_columns.hpp describes the bytes. Times are ticks.

const KINDS = 5;  // F, I, W, B, R
const FORWARD = 0;

async function unpackRows(base64, devices) {
  const text = atob(base64);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return decodeRows(new Uint8Array(await new Response(stream).arrayBuffer()), devices);
}

function decodeRows(bytes, devices) {
  let at = 0;
  const unsigned = () => {
    let value = 0;
    let weight = 1;  // bit operations would end at 2^31
    for (;;) {
      const byte = bytes[at++];
      if (byte < 0x80) return value + byte * weight;
      value += (byte - 0x80) * weight;
      weight *= 128;
    }
  };
  const signed = () => {
    const value = unsigned();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  };
  // Offsets of the devices' rows; the last is the number of rows.
  const offsets = () => {
    const first = new Uint32Array(devices + 1);
    for (let device = 0; device < devices; ++device) first[device + 1] = first[device] + unsigned();
    return first;
  };

  const first = offsets();
  const count = first[devices];
  const start = new Float64Array(count);
  const end = new Float64Array(count);
  const released = new Float64Array(count);
  const ready = new Float64Array(count);
  for (let i = 0; i < count; ++i) start[i] = signed();  // for now since the end before
  for (let device = 0; device < devices; ++device) {
    let previous = 0;
    for (let i = first[device]; i < first[device + 1]; ++i) {
      start[i] += previous;
      previous = end[i] = start[i] + signed();
    }
  }
  for (let i = 0; i < count; ++i) released[i] = end[i] + signed();
  for (let i = 0; i < count; ++i) ready[i] = start[i] - signed();

  const kind = new Uint8Array(count);
  const names = { stage: null, chunk: null, microbatch: null, iteration: null };
  for (let device = 0; device < devices; ++device) {
    let previous = 0;
    for (let i = first[device]; i < first[device + 1]; ++i) previous = kind[i] = previous + signed();
  }
  for (const name of Object.keys(names)) {
    const column = (names[name] = new Uint32Array(count));
    for (let device = 0; device < devices; ++device) {
      const previous = new Array(KINDS).fill(0);
      for (let i = first[device]; i < first[device + 1]; ++i)
        previous[kind[i]] = column[i] = previous[kind[i]] + signed();
    }
  }

  const changes = offsets();
  const memory = {
    first: changes,
    time: new Float64Array(changes[devices]),
    bytes: new Float64Array(changes[devices]),
  };
  for (const column of [memory.time, memory.bytes])
    for (let device = 0; device < devices; ++device) {
      let previous = 0;
      for (let i = changes[device]; i < changes[device + 1]; ++i)
        previous = column[i] = previous + signed();
    }
  const partner = pairs(first, start, end);
  return { devices, count, first, start, end, released, ready, kind, ...names, partner, memory };
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

// What a device holds at a time: bytes.
function memoryAt(memory, device, time) {
  const low = memory.first[device];
  const next = firstAbove(memory.time, low, memory.first[device + 1], time);
  return next === low ? 0 : memory.bytes[next - 1];
}
