// The figures of a run, as metrics.md defines them and `--json` names them.

// `better`: -1 where less is, 1 where more is; `instead`: what says the same better, where it is
// known.
const metric = (anchor, name, unit, better, of, instead) =>
  ({ anchor, name, unit, better, of, instead });

const TOKENS = metric("throughput", "tokens", "tokens/s", 1, (run) => run.tokens_per_s);
const MEMORY_PEAK = metric("memory-peak", "memory peak", "bytes", -1,
                           (run) => largestPeak(run)?.peak_memory_bytes ?? null);
const RUN_METRICS = [
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

function formatQuantity(value, unit) {
  if (value === null || value === undefined) return "\u2013";
  if (unit === "s") return formatSeconds(value);
  if (unit === "bytes") return formatBytes(value);
  if (unit === "share") return formatPercent(value);
  return formatRate(value, unit.replace(/\/s$/, ""));
}

// With its sign; shares in points of a percent.
function formatDifference(difference, unit) {
  const sign = difference < 0 ? "\u2212" : "+";
  const size = Math.abs(difference);
  const text = unit === "share" ? `${(size * 100).toFixed(1)} points` : formatQuantity(size, unit);
  return `${sign}${text}`;
}

const byMost = (value) => (best, one) => (best === null || value(one) > value(best) ? one : best);

// The device that holds most; null where no memory is known.
function largestPeak(run) {
  const device = run.devices.reduce(byMost((one) => one.peak_memory_bytes), null);
  return device?.peak_memory_bytes > 0 ? device : null;
}

// The device that fills most of its capacity; null where no capacity is known.
function fullestOf(run) {
  const known = run.devices.filter((device) => device.memory_capacity_bytes > 0);
  return known.reduce(byMost(ofCapacity), null);
}

const ofCapacity = (device) => device.peak_memory_bytes / device.memory_capacity_bytes;
