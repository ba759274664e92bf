// What the colours of passes and transfers stand for.

const PAINT_MODES = [
  ["kind", "kind"],
  ["microbatch", "microbatch"],
  ["stage", "stage"],
  ["critical", "critical path"],
];

// Stops of viridis and cividis, in which order shows and all kinds of colour vision tell steps
// apart; without the ends that would vanish on a light or a dark ground.
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

// Colours of the lanes beside passes: those that links and bars have for the same.
const LANE_COLOURS = {
  activation: page.traffic[0].fill,
  gradient: page.traffic[1].fill,
  reduce_gradients: page.time_fills.gradients_s,
  gather_weights: page.time_fills.weights_s,
  tie_embeddings: page.time_fills.embeddings_s,
  norm: page.time_fills.norm_s,
  optimizer: page.time_fills.optimizer_s,
};
const LANE_WORDS = {
  activation: "activation",
  gradient: "gradient",
  reduce_gradients: "reduction of gradients",
  gather_weights: "gathering of weights",
  tie_embeddings: "tied embeddings",
  norm: "norm of gradients",
  optimizer: "optimizer step",
};

// Of each pass a tone, and of each tone a colour: {tone, fills, dark_text, labels}.
// `counts`: microbatches and stages of the run with most, so that runs compare.
function passPaint({ mode, counts }, run, theme) {
  const { rows } = run;
  if (mode === "microbatch")
    return sequencePaint(rows.microbatch, mode, theme, counts.microbatch, microbatchesOf(run));
  if (mode === "stage") return sequencePaint(rows.stage, mode, theme, counts.stage);
  const chunks = run.colours[0].length;
  const shades = run.colours.flat();  // [kind * chunks + chunk]
  const fills = shades.map((shade) => rgb(shade.fill));
  const tone = new Uint16Array(rows.count);
  const known = Math.min(chunks, 65536 / KINDS - 1);
  for (let i = 0; i < rows.count; ++i)
    tone[i] = rows.kind[i] * chunks + Math.min(rows.chunk[i], known);
  if (mode === "critical") {
    fills.push(rgb(theme.dimmed));
    const marked = run.lanes.critical.passes;
    for (let i = 0; i < rows.count; ++i) if (marked[i] === 0) tone[i] = fills.length - 1;
  }
  return { tone, fills, dark_text: fills.map(wantsDarkText) };
}

// From dark to light over values 0 to `count` - 1, over and over again if there are more.
function sequencePaint(values, name, theme, count, period = Infinity) {
  const stops = SEQUENCES[name][theme.dark ? "dark" : "light"];
  const fills = Array.from({ length: SEQUENCE_STEPS }, (_, i) =>
    sequenceColour(stops, i / (SEQUENCE_STEPS - 1)));
  const scale = (SEQUENCE_STEPS - 1) / Math.max(1, count - 1);
  const tone = new Uint16Array(values.length);
  for (let i = 0; i < values.length; ++i) tone[i] = Math.round((values[i] % period) * scale);
  return { tone, fills, dark_text: fills.map(wantsDarkText) };
}

function sequenceColour(stops, share) {
  const place = share * (stops.length - 1);
  const i = Math.min(Math.floor(place), stops.length - 2);
  const [a, b] = [rgb(stops[i]), rgb(stops[i + 1])];
  return a.map((channel, k) => Math.round(channel + (b[k] - channel) * (place - i)));
}

const countsOf = (runs) => ({
  microbatch: Math.max(...runs.map(microbatchesOf)),
  stage: Math.max(...runs.map((run) => largest(run.rows.stage) + 1)),
});

// Microbatches, or slices of them, of one iteration.
function microbatchesOf(run) {
  const all = largest(run.rows.microbatch) + 1;
  return Math.max(1, Math.ceil(all / Math.max(1, run.iterations)));
}

function largest(column) {
  let most = 0;
  for (let i = 0; i < column.length; ++i) if (column[i] > most) most = column[i];
  return most;
}

// As wants_dark_text of palette.hpp.
function wantsDarkText(colour) {
  const [red, green, blue] = colour.map((channel) => {
    const c = channel / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179;
}

// Why a device computes nothing: idle.hpp has the causes. Four groups of them tint the ground.

const IDLE_GROUPS = [
  ["compute", "waits for another device to compute"],
  ["network", "waits for a transfer"],
  ["collective", "waits for a collective"],
  ["finished", "done, or no cause known"],
];
const GROUP_OF_CAUSE = {
  input: 0, transfer: 1, rendezvous: 1, blocked_send: 1, weights: 2, gradients: 2, embeddings: 2,
  norm: 2, peers: 0, finished: 3, other: 3,
};

function groupsOf(causes) {
  const groups = IDLE_CAUSES.map((cause) => GROUP_OF_CAUSE[cause]);
  const tone = new Uint8Array(causes.length);
  for (let i = 0; i < causes.length; ++i) tone[i] = groups[causes[i]];
  return tone;
}

const idleFills = (theme) => IDLE_GROUPS.map(([name]) => rgb(theme[`idle_${name}`]));

// The head of what is said of an idle time.
function causeInWords(cause, stage, microbatch) {
  switch (IDLE_CAUSES[cause]) {
    case "input": return `waits for the input: stage ${stage}, microbatch ${microbatch}`;
    case "transfer": return `input on its way: stage ${stage}, microbatch ${microbatch}`;
    case "rendezvous": return `rendezvous: stage ${stage}, microbatch ${microbatch}`;
    case "blocked_send": return `blocked by its send: stage ${stage}, microbatch ${microbatch}`;
    case "weights": return `waits for the weights of stage ${stage}`;
    case "gradients": return `waits for the reduction of the gradients of stage ${stage}`;
    case "embeddings": return "waits for the tied embeddings";
    case "norm": return "waits for the norm of all gradients";
    case "peers": return "waits for those with whom it sums up gradients";
    case "finished": return "idle: all done";
    default: return "idle";
  }
}
