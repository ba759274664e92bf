// The keys that have a place of their own in the form; the others are added by name. What each is,
// its choices and its help come from the program's table of keys.

const CONTROL_GROUPS = [
  ["what and where", ["model", "cluster", "gpu"]],
  ["layout", ["parallel.tp", "parallel.pp", "parallel.cp", "parallel.ep", "parallel.dp",
              "parallel.zero", "parallel.sp"]],
  ["schedule", ["schedule.name", "schedule.chunks", "partition"]],
  ["batch", ["global_batch", "microbatches", "training.microbatch_size", "training.sequence"]],
  ["training", ["training.precision", "training.recompute"]],
  ["network", ["communication.detail", "communication.multipath", "communication.tp_comm_overlap",
               "p2p", "variation.bandwidth.nic", "variation.bandwidth.nvlink",
               "variation.latency"]],
];

const WIDE_CONTROLS = new Set(["model", "cluster", "gpu", "schedule.name"]);

const CONTROL_LABELS = {
  "schedule.name": "schedule",
  "training.microbatch_size": "microbatch size",
  "communication.tp_comm_overlap": "tp overlap",
  "variation.bandwidth.nic": "NIC bandwidth \u00d7",
  "variation.bandwidth.nvlink": "NVLink bandwidth \u00d7",
  "variation.latency": "latency \u00d7",
};

// Keys of a map whose names are the cluster's: the table of keys holds the map.
const NAMED_KEYS = {
  "variation.bandwidth.nic": "so many times the NICs' bandwidth",
  "variation.bandwidth.nvlink": "so many times the bandwidth of links in a node",
};

const labelOf = (key) => CONTROL_LABELS[key] ?? key.split(".").at(-1).replaceAll("_", " ");

// Of these one says the other.
const EITHER_OR = [["global_batch", "microbatches"]];

// What else changes with a key: [key, value] each, where an empty value takes the key away.
function editsOf(key, value, values, info) {
  const edits = [];
  for (const pair of EITHER_OR)
    if (value !== "" && pair.includes(key))
      for (const other of pair) if (other !== key && values[other]) edits.push([other, ""]);
  if (key === "schedule.name") {
    const taken = info.schedules.find(({ name }) => name === value)?.takes;
    for (const one of taken ? Object.keys(values) : []) {
      const choice = one.match(/^schedule\.(chunks|group_size|slices|recompute|fused)$/)?.[1];
      if (choice && !taken.includes(choice)) edits.push([one, ""]);
    }
  }
  // Without its name a schedule is none.
  return [...edits, key === "schedule.name" && value === "" ? ["schedule", ""] : [key, value]];
}
