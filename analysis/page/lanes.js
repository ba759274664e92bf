// What a timeline shows besides passes; lane_columns.hpp describes the bytes. Times are ticks, and
// passes and transfers are named by their index over all devices, -1 for none.

const NONE = -1;
const IDLE_CAUSES = ["input", "transfer", "rendezvous", "blocked_send", "weights", "gradients",
                     "embeddings", "norm", "peers", "finished", "other"];
const CRITICAL_PARTS = ["compute", "in_passes", "transfer", "rendezvous", "blocked_send", "weights",
                        "gradients", "embeddings", "norm", "optimizer", "other_replicas", "other"];
const TRAFFIC = ["activation", "gradient", "reduce_gradients", "gather_weights", "tie_embeddings",
                 "in_passes"];

function decodeLanes(bytes, rows) {
  const reader = laneReader(bytes, rows.devices);
  const transfers = decodeTransfers(reader, rows);
  const collectives = decodeCollectives(reader);
  const steps = decodeSteps(reader);
  const waits = decodeWaits(reader);
  const paths = decodePaths(reader);
  const idle = decodeIdle(reader, rows, transfers);
  const critical = decodeCriticalPath(reader, rows);
  markCriticalPath(critical, rows, transfers);
  return { transfers, collectives, steps, waits, paths, idle, critical };
}

// Varints with the shapes that columns come in.
function laneReader(bytes, devices) {
  const { unsigned, signed, signeds, offsets } = varints(bytes);
  const perDevice = (first, one) => {
    for (let device = 0; device < devices; ++device) {
      const state = { previous: 0 };
      for (let i = first[device]; i < first[device + 1]; ++i) one(i, device, state);
    }
  };
  const numbers = (column) => {
    for (let i = 0; i < column.length; ++i) column[i] = unsigned();
    return column;
  };
  const chain = (first, column) => {
    signeds(column);
    for (let device = 0; device < devices; ++device)
      for (let i = first[device], previous = 0; i < first[device + 1]; ++i)
        previous = column[i] += previous;
    return column;
  };
  return { devices, unsigned, signed, offsets: () => offsets(devices), perDevice, numbers,
           differences: signeds, chain };
}

function decodeTransfers(reader, rows) {
  const { devices, differences } = reader;
  const first = reader.offsets();  // by destination
  const count = first[devices];
  const kind = reader.chain(first, new Uint8Array(count));
  const taker = reader.chain(first, new Int32Array(count));  // for now its place
  const ofKind = (column) => {
    differences(column);
    for (let device = 0; device < devices; ++device) {
      const previous = [0, 0];
      for (let i = first[device]; i < first[device + 1]; ++i)
        previous[kind[i]] = column[i] += previous[kind[i]];
    }
    return column;
  };
  const source = ofKind(new Uint32Array(count));
  const maker = ofKind(new Int32Array(count));
  const size = ofKind(new Float64Array(count));
  const stage = decodeUntaken(reader, first, kind, taker);
  const microbatch = decodeUntaken(reader, first, kind, taker);
  const input = new Int32Array(rows.count).fill(NONE);
  for (let device = 0; device < devices; ++device)
    for (let i = first[device]; i < first[device + 1]; ++i) {
      maker[i] = maker[i] === 0 ? NONE : rows.first[source[i]] + maker[i] - 1;
      if (taker[i] === 0) {
        taker[i] = NONE;
        continue;
      }
      const pass = (taker[i] += rows.first[device] - 1);
      input[pass] = i;
      stage[i] = rows.stage[pass] + (kind[i] === 0 ? -1 : 1);
      microbatch[i] = rows.microbatch[pass];
    }
  const [end, posted, start] = [0, 1, 2].map(() => differences(new Float64Array(count)));
  for (let i = 0; i < count; ++i) {
    if (taker[i] !== NONE) end[i] += rows.ready[taker[i]];
    posted[i] += maker[i] === NONE ? end[i] : rows.end[maker[i]];
    start[i] += posted[i];
  }
  return { count, first, kind, source, stage, microbatch, size, posted, start, end, maker, taker,
           input };
}

// A column of those transfers only that no pass takes, which come first on each device.
function decodeUntaken({ devices, signed }, first, kind, taker) {
  const column = new Uint32Array(kind.length);
  for (let device = 0; device < devices; ++device) {
    const previous = [0, 0];
    for (let i = first[device]; i < first[device + 1] && taker[i] === 0; ++i)
      previous[kind[i]] = column[i] = previous[kind[i]] + signed();
  }
  return column;
}

function decodeCollectives(reader) {
  const first = reader.offsets();
  const count = first[reader.devices];
  const kind = reader.numbers(new Uint8Array(count));
  const stage = reader.chain(first, new Uint32Array(count));
  const iteration = reader.chain(first, new Uint32Array(count));
  const size = reader.chain(first, new Float64Array(count));
  const posted = reader.chain(first, new Float64Array(count));
  const start = reader.differences(new Float64Array(count)).map((wait, i) => posted[i] + wait);
  const end = reader.differences(new Float64Array(count)).map((length, i) => start[i] + length);
  return { count, first, kind, stage, iteration, size, posted, start, end };
}

function decodeSteps(reader) {
  const first = reader.offsets();
  const count = first[reader.devices];
  const iteration = reader.chain(first, new Uint32Array(count));
  const times = Array.from({ length: 6 }, () => reader.differences(new Float64Array(count)));
  const [start, reduced, synchronized, updated, end, gathering] = times;
  reader.perDevice(first, (i, _, state) => {
    start[i] += state.previous;
    reduced[i] += start[i];
    synchronized[i] += reduced[i];
    updated[i] += synchronized[i];
    state.previous = end[i] += updated[i];
  });
  return { count, first, iteration, start, reduced, synchronized, updated, end, gathering };
}

// Of a stage on a device: the waits within its passes by kind.
function decodeWaits({ unsigned }) {
  const waits = new Map();
  for (let left = unsigned(); left > 0; --left) {
    const [stage, device] = [unsigned(), unsigned()];
    waits.set(`${stage} ${device}`, Array.from({ length: KINDS }, () => unsigned()));
  }
  return waits;
}

function decodePaths({ unsigned }) {
  const paths = new Map();
  for (let left = unsigned(); left > 0; --left) {
    const [traffic, source, destination, stage, link, alone] =
      Array.from({ length: 6 }, () => unsigned());
    paths.set(`${TRAFFIC[traffic]} ${source} ${destination} ${stage}`, { link: link - 1, alone });
  }
  return paths;
}

function decodeIdle(reader, rows, transfers) {
  const first = reader.offsets();
  const count = first[reader.devices];
  const cause = reader.numbers(new Uint8Array(count));
  const next = reader.chain(first, new Int32Array(count));  // for now its place
  const start = reader.differences(new Float64Array(count));
  const end = reader.differences(new Float64Array(count));
  const stage = reader.differences(new Int32Array(count));
  const microbatch = reader.differences(new Int32Array(count));
  reader.perDevice(first, (i, device, state) => {
    const known = next[i] > 0;
    next[i] = known ? rows.first[device] + next[i] - 1 : NONE;
    const before = (known ? next[i] : rows.first[device + 1]) - 1;
    const computed = before >= rows.first[device] ? rows.end[before] : 0;
    start[i] += Math.max(state.previous, computed);
    let foretold = known ? rows.start[next[i]] : start[i];
    const input = known ? transfers.input[next[i]] : NONE;
    const why = IDLE_CAUSES[cause[i]];
    if (why === "blocked_send" && before >= rows.first[device]) foretold = rows.released[before];
    else if (input !== NONE && why === "input") foretold = transfers.posted[input];
    else if (input !== NONE && why === "rendezvous") foretold = transfers.start[input];
    else if (input !== NONE && why === "transfer") foretold = transfers.end[input];
    state.previous = end[i] += foretold;
    if (!known) return;
    stage[i] += rows.stage[next[i]];
    microbatch[i] += rows.microbatch[next[i]];
  });
  return { count, first, cause, next, start, end, stage, microbatch };
}

function decodeCriticalPath({ unsigned, signed, numbers }, rows) {
  const count = unsigned();
  const chain = (column) => {
    for (let i = 0, previous = 0; i < count; ++i) previous = column[i] = previous + signed();
    return column;
  };
  const part = numbers(new Uint8Array(count));
  const device = chain(new Uint32Array(count));
  const pass = chain(new Int32Array(count));
  pass.forEach((place, i) => { pass[i] = place === 0 ? NONE : rows.first[device[i]] + place - 1; });
  const stage = chain(new Uint32Array(count));
  const microbatch = chain(new Uint32Array(count));
  const end = chain(new Float64Array(count));
  const link = numbers(new Float64Array(count)).map((number) => number - 1);
  return { count, part, device, pass, stage, microbatch, end, link };
}

// Which passes and transfers are on the path.
function markCriticalPath(critical, rows, transfers) {
  critical.passes = new Uint8Array(rows.count);
  critical.transfers = new Uint8Array(transfers.count);
  for (let i = 0; i < critical.count; ++i) {
    const pass = critical.pass[i];
    if (pass === NONE) continue;
    critical.passes[pass] = 1;
    // The piece before is the way of its input, unless the device itself was late.
    const before = i > 0 ? CRITICAL_PARTS[critical.part[i - 1]] : "";
    const input = transfers.input[pass];
    if ((before === "transfer" || before === "rendezvous") && input !== NONE)
      critical.transfers[input] = 1;
  }
}
