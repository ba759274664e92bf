// What devices hold over time.

// What a device holds at a time: bytes.
function memoryAt(memory, device, time) {
  const low = memory.first[device];
  const next = firstAbove(memory.time, low, memory.first[device + 1], time);
  return next === low ? 0 : memory.bytes[next - 1];
}

// The same in each category, after the device's changes before row `next`.
function heldBefore(memory, device, next) {
  const held = new Float64Array(CATEGORIES);
  for (let i = memory.first[device]; i < next; ++i) held[memory.category[i]] = memory.held[i];
  return held;
}

function heldAt(memory, device, time) {
  const next = firstAbove(memory.time, memory.first[device], memory.first[device + 1], time);
  return heldBefore(memory, device, next);
}

// The most bytes that the devices [first, last) ever hold, each for itself.
function peakMemory(memory, first = 0, last = memory.first.length - 1) {
  let peak = 0;
  for (let i = memory.first[first]; i < memory.first[last]; ++i)
    if (memory.bytes[i] > peak) peak = memory.bytes[i];
  return peak;
}

// The device that fills most of its capacity, or holds most where capacities are unknown.
function fullestDevice(run) {
  const { devices } = run.summary;
  const known = devices.every((device) => device.memory_capacity_bytes > 0);
  const fullness = (device) =>
    device.peak_memory_bytes / (known ? device.memory_capacity_bytes : 1);
  const fuller = (best, device, i) => (fullness(device) > fullness(devices[best]) ? i : best);
  return devices.reduce(fuller, 0);
}

// Those that are known, each once.
function capacitiesOf(run) {
  return [...new Set(run.capacities)].filter((bytes) => bytes > 0);
}

// A chart's top: with the capacities, unless they would press the curves together.
function memoryScale(runs) {
  const peak = Math.max(...runs.map((run) => peakMemory(run.memory)));
  const capacities = runs.flatMap(capacitiesOf).filter((bytes) => bytes <= 2.5 * peak);
  return 1.14 * Math.max(peak, ...capacities);
}
