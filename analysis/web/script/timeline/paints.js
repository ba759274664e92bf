// Colours of passes and transfers.

import { mark, swatches, textElement } from "../elements.js";
import { page } from "../page_data.js";
import { IDLE_CAUSES, KINDS } from "../rows.js";
import { rgb, sequenceColour } from "../theme.js";

export const PAINT_MODES = [
  ["kind", "kind"],
  ["microbatch", "microbatch"],
  ["stage", "stage"],
  ["critical", "critical path"],
];

// Stops of viridis and cividis, which show order and can be distinguished with any colour vision. The
// ends without contrast to a light or a dark background are left out.
const SEQUENCES = {
  microbatch: {
    light: ["#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#d2e21b"],
    dark: ["#5b4fa5", "#3f71a8", "#2a9d8f", "#35b779", "#8fd744", "#fde725"],
  },
  stage: {
    light: ["#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#f1d84b"],
    dark: ["#3d5a9a", "#5a6f8f", "#7f7f83", "#a59c74", "#d0be60", "#fee838"],
  },
};
const SEQUENCE_STEPS = 256;

// Colours of the kinds of spans in lanes. Links and bars show the same kinds in the same colours.
export const LANE_COLOURS = {
  activation: page.traffic[0].fill,
  gradient: page.traffic[1].fill,
  reduce_gradients: page.time_fills.gradients_s,
  gather_weights: page.time_fills.weights_s,
  tie_embeddings: page.time_fills.embeddings_s,
  norm: page.time_fills.norm_s,
  optimizer: page.time_fills.optimizer_s,
};
export const LANE_TONES = Object.keys(LANE_COLOURS);
export const toneOf = (name) => LANE_TONES.indexOf(name);
export const LANE_WORDS = {
  activation: "activation",
  gradient: "gradient",
  reduce_gradients: "reduction of gradients",
  gather_weights: "gathering of weights",
  tie_embeddings: "tied embeddings",
  norm: "norm of gradients",
  optimizer: "optimizer step",
};

// Colours of a run's passes: {tone, fills, dark_text}. `tone` holds each pass's index into `fills`.
// `counts`: largest numbers of microbatches and stages of any run, so that equal colours mean the
// same in all runs.
export function passPaint({ mode, counts }, run, theme) {
  const { rows } = run;
  if (mode === "microbatch")
    return sequencePaint(rows.microbatch, mode, theme, counts.microbatch, microbatchesOf(run));
  if (mode === "stage") return sequencePaint(rows.stage, mode, theme, counts.stage);
  const chunks = run.colours[0].length;
  const shades = run.colours.flat();  // [kind * chunks + chunk]
  const fills = shades.map((shade) => rgb(shade.fill));
  const tone = new Uint16Array(rows.count);
  const maxChunk = Math.min(chunks, 65536 / KINDS.length - 1);
  for (let i = 0; i < rows.count; ++i)
    tone[i] = rows.kind[i] * chunks + Math.min(rows.chunk[i], maxChunk);
  if (mode === "critical") {
    fills.push(rgb(theme.dimmed));
    const marked = run.lanes.critical.passes;
    for (let i = 0; i < rows.count; ++i) if (marked[i] === 0) tone[i] = fills.length - 1;
  }
  return { tone, fills, dark_text: fills.map(wantsDarkText) };
}

// Colours from dark to light for the values 0 to `count` - 1, repeated with the given period.
function sequencePaint(values, name, theme, count, period = Infinity) {
  const stops = SEQUENCES[name][theme.dark ? "dark" : "light"];
  const fills = Array.from({ length: SEQUENCE_STEPS }, (_, i) =>
    sequenceColour(stops, i / (SEQUENCE_STEPS - 1)));
  const scale = (SEQUENCE_STEPS - 1) / Math.max(1, count - 1);
  const tone = new Uint16Array(values.length);
  for (let i = 0; i < values.length; ++i) tone[i] = Math.round((values[i] % period) * scale);
  return { tone, fills, dark_text: fills.map(wantsDarkText) };
}

export const countsOf = (runs) => ({
  microbatch: Math.max(...runs.map(microbatchesOf)),
  stage: Math.max(...runs.map((run) => largest(run.rows.stage) + 1)),
});

// Number of microbatches in one iteration; slices count if microbatches are sliced.
function microbatchesOf(run) {
  const total = largest(run.rows.microbatch) + 1;
  return Math.max(1, Math.ceil(total / Math.max(1, run.iterations)));
}

function largest(column) {
  let maximum = 0;
  for (let i = 0; i < column.length; ++i) if (column[i] > maximum) maximum = column[i];
  return maximum;
}

// True if dark text is more readable on a colour; the same rule as needs_dark_text in palette.hpp.
function wantsDarkText(colour) {
  const [red, green, blue] = colour.map((channel) => {
    const c = channel / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179;
}

// Groups of the causes of idle time (idle_time.hpp), and their descriptions in the legend. Each
// group has its own background colour in rows.
const IDLE_GROUPS = [
  ["compute", "waits for another device to compute"],
  ["network", "waits for a transfer"],
  ["collective", "waits for a collective"],
  ["finished", "done, or unknown cause"],
];
const GROUP_OF_CAUSE = {
  input: 0, transfer: 1, rendezvous: 1, blocked_send: 1, weights: 2, gradients: 2, embeddings: 2,
  norm: 2, peers: 0, finished: 3, other: 3,
};

export function groupsOf(causes) {
  const groups = IDLE_CAUSES.map((cause) => GROUP_OF_CAUSE[cause]);
  const tone = new Uint8Array(causes.length);
  for (let i = 0; i < causes.length; ++i) tone[i] = groups[causes[i]];
  return tone;
}

export const idleFills = (theme) => IDLE_GROUPS.map(([name]) => rgb(theme[`idle_${name}`]));

// Describes the cause of an idle time as a heading.
export function causeInWords(cause, stage, microbatch) {
  switch (IDLE_CAUSES[cause]) {
    case "input": return `waits for the input: stage ${stage}, microbatch ${microbatch}`;
    case "transfer": return `input on its way: stage ${stage}, microbatch ${microbatch}`;
    case "rendezvous": return `rendezvous: stage ${stage}, microbatch ${microbatch}`;
    case "blocked_send": return `blocked by its send: stage ${stage}, microbatch ${microbatch}`;
    case "weights": return `waits for the weights of stage ${stage}`;
    case "gradients": return `waits for the reduction of the gradients of stage ${stage}`;
    case "embeddings": return "waits for the tied embeddings";
    case "norm": return "waits for the norm of all gradients";
    case "peers": return "waits for the peers with which it reduces gradients";
    case "finished": return "idle: all done";
    default: return "idle";
  }
}

// Fills the legend of the timelines for the selected colour mode.
export function fillLegend(legend, page, runs, timelines, settings, theme) {
  const entries = [];
  const add = (swatch, words) => {
    const entry = document.createElement("span");
    entry.append(swatch, words);
    entries.push(entry);
  };
  const { mode } = settings;
  if (mode === "microbatch" || mode === "stage") {
    const ramp = mark("ramp");
    const stops = SEQUENCES[mode][theme.dark ? "dark" : "light"];
    ramp.style.background = `linear-gradient(90deg, ${stops})`;
    add(ramp, `${mode} 0 to ${settings.counts[mode] - 1}`);
  } else {
    const widest = runs.reduce((best, run) => (run.chunks > best.chunks ? run : best));
    page.kinds.forEach((kind, k) => {
      if (!runs.some((run) => shownIn(run).kinds.has(k))) return;
      const shades = widest.colours[k].slice(0, 8).map((colour) => colour.fill);
      add(swatches(shades), `${kind.words} (${kind.letter})`);
    });
    if (mode === "critical") add(swatches([theme.dimmed]), "not on the critical path");
  }
  const shown = runs.map(shownIn);
  if (shown.some(({ blocked }) => blocked))
    add(swatches([""], "hatched"), "blocked by its send");
  const waits = runs.flatMap(({ lanes }) => [...lanes.waits.values()].flat());
  if (waits.some((ticks) => ticks > 0))
    add(swatches([""], "hatched light"), "waits for collectives within a pass");

  if (mode === "critical") add(swatches(["var(--idle)"]), "idle");
  else IDLE_GROUPS.forEach(([name, words], group) => {
    if (shown.some(({ groups }) => groups.has(group)))
      add(swatches([`var(--idle-${name})`]), `idle: ${words}`);
  });
  for (const name of laneTonesShown(timelines))
    add(swatches([LANE_COLOURS[name]]), LANE_WORDS[name]);

  const note = textElement("span", legendNote(runs, mode));
  note.className = "note";
  legend.replaceChildren(...entries, note);
}

function legendNote(runs, mode) {
  const chunks = Math.max(...runs.map((run) => run.chunks));
  const shades = chunks > 1 && (mode === "kind" || mode === "critical")
    ? `dark to light: chunk 0 to ${chunks - 1}; ` : "";
  const pairs = runs.some((run) => shownIn(run).pairs)
    ? "stacked pairs: fused; " : "";
  return `${shades}${pairs}numbers: microbatch; passes narrower than a pixel mix their colours`;
}

// Finds which of the features that the legend explains occur in a run. The result is computed once.
function shownIn(run) {
  if (run.shown) return run.shown;
  const { rows, lanes: { idle } } = run;
  let blocked = false;
  let pairs = false;
  for (let i = 0; i < rows.count; ++i) {
    blocked ||= rows.released[i] > rows.end[i];
    pairs ||= rows.partner[i] !== 0;
  }
  run.shown = { blocked, pairs, kinds: valuesOf(rows.kind), groups: valuesOf(idle.tone) };
  return run.shown;
}

export function valuesOf(column) {
  const seen = new Uint8Array(256);
  for (let i = 0; i < column.length; ++i) seen[column[i]] = 1;
  return new Set([...seen.keys()].filter((value) => seen[value] === 1));
}

function laneTonesShown(timelines) {
  const shown = new Set();
  for (const timeline of timelines)
    for (const lane of timeline.layout.lanes)
      for (const tone of timeline.laneTones(lane)) shown.add(LANE_TONES[tone]);
  return LANE_TONES.filter((name) => shown.has(name));
}
