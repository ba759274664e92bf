// Formats quantities in the same way as analysis/report/units_text.cpp.

const TIME_UNITS = [["s", 1, 4], ["ms", 1e-3, 4], ["us", 1e-6, 3], ["ns", 1e-9, 3]];

function unitOf(seconds) {
  return TIME_UNITS.find(([, factor]) => Math.abs(seconds) >= factor) ?? TIME_UNITS.at(-1);
}

function decimalsFor(value, digits) {
  return Math.max(0, digits - 1 - Math.floor(Math.log10(value)));
}

export function formatSeconds(seconds) {
  if (seconds === 0) return "0 s";
  for (const [name, factor, digits] of TIME_UNITS) {
    const value = Math.abs(seconds) / factor;
    const shown = Number(value.toPrecision(digits));
    if (shown < 1 && name !== "ns") continue;
    const text = value.toFixed(Math.min(12, decimalsFor(shown || 1, digits)));
    return `${seconds < 0 ? "-" : ""}${text} ${name}`;
  }
}

// Formats a time in the unit of `largest`, so that the times of a column compare.
export function formatSecondsAs(seconds, largest) {
  if (seconds === 0 || largest === 0) return formatSeconds(seconds);
  const name = formatSeconds(largest).split(" ")[1];
  const [, factor, digits] = TIME_UNITS.find(([unit]) => unit === name);
  const value = Math.abs(seconds) / factor;
  const shown = Number(value.toPrecision(digits)) || 1;
  return `${(seconds / factor).toFixed(Math.min(digits, decimalsFor(shown, digits)))} ${name}`;
}

// Formats a point on the time axis. `span` is the duration of the longest run; six of its digits
// are shown.
export function formatInstant(seconds, span) {
  const [name, factor] = unitOf(span);
  const value = span / factor;
  return `${(seconds / factor).toFixed(value > 0 ? decimalsFor(value, 6) : 0)} ${name}`;
}

export function formatBytes(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let value = bytes / 1024;
  let unit = 0;
  for (; value >= 1023.95; ++unit) value /= 1024;
  return `${value.toFixed(1)} ${units[unit]}`;
}

export function formatPercent(ratio) {
  const tenths = Math.round(ratio * 1000);
  return `${(tenths === 0 ? 0 : tenths / 10).toFixed(1)} %`;  // never "-0.0 %"
}

export function formatRate(perSecond, unit) {
  if (perSecond === 0) return `0 ${unit}/s`;
  const scales = [[1, ""], [1e3, "k "], [1e6, "M "], [1e9, "G "], [1e12, "T "]];
  const below = ([size]) => Number((Math.abs(perSecond) / size).toPrecision(3)) < 1000;
  const [factor, prefix] = scales.find(below) ?? scales.at(-1);
  const value = perSecond / factor;
  const shown = Number(Math.abs(value).toPrecision(3));
  return `${Number(value.toFixed(Math.min(12, decimalsFor(shown, 3))))} ${prefix}${unit}/s`;
}

export function formatBandwidth(perSecond) {
  return formatRate(perSecond, "B").replace(/([kMGT]) B/, "$1B");
}

// The smallest of 1, 2 or 5 times a power of ten that is at least `minimum`.
export function roundStep(minimum) {
  const power = 10 ** Math.floor(Math.log10(minimum));
  return [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= minimum * (1 - 1e-9));
}

// Ticks within [from, to] seconds: {seconds, label}, with at most `maxSteps` steps.
export function timeTicks(from, to, maxSteps) {
  const [name, factor] = unitOf(to);
  const step = roundStep((to - from) / factor / maxSteps);
  const decimals = Math.min(12, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  const ticks = [];
  for (let i = Math.ceil(from / factor / step - 1e-9); i * step <= (to / factor) * (1 + 1e-12); ++i)
    ticks.push({ seconds: i * step * factor, label: (i * step).toFixed(decimals) });
  return { ticks, unit: name };
}

// Keeps a number and its unit on one line.
export function noBreak(text) {
  return text.replace(/(\d) /g, "$1\u00a0");
}
