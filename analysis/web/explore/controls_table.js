// Scenario keys that have a control of their own in the form; other keys are added by name. Types,
// choices and help come from the program's table of keys.

export const CONTROL_GROUPS = [
  ["model, cluster and software", ["model", "cluster", "gpu", "stack"]],
  ["layout", ["parallel.tp", "parallel.pp", "parallel.cp", "parallel.ep", "parallel.dp",
              "parallel.zero", "parallel.sp"]],
  ["schedule", ["schedule.name", "schedule.chunks", "partition"]],
  ["batch", ["global_batch", "microbatches", "training.microbatch_size", "training.sequence"]],
  ["training", ["training.precision", "training.recompute"]],
  ["network", ["communication.detail", "communication.multipath", "communication.tp_comm_overlap",
               "p2p", "variation.bandwidth.nic", "variation.bandwidth.nvlink",
               "variation.latency"]],
];

export const WIDE_CONTROLS = new Set(["model", "cluster", "gpu", "stack", "schedule.name"]);

const CONTROL_LABELS = {
  "schedule.name": "schedule",
  "training.microbatch_size": "microbatch size",
  "communication.tp_comm_overlap": "tp overlap",
  "variation.bandwidth.nic": "NIC bandwidth \u00d7",
  "variation.bandwidth.nvlink": "NVLink bandwidth \u00d7",
  "variation.latency": "latency \u00d7",
};

// Form labels of map entries that are named by a link class of the cluster. The program's table of
// keys lists only the map itself.
export const NAMED_KEYS = {
  "variation.bandwidth.nic": "factor of the bandwidth of NICs",
  "variation.bandwidth.nvlink": "factor of the bandwidth of links within a node",
};

export const labelOf = (key) => CONTROL_LABELS[key] ?? key.split(".").at(-1).replaceAll("_", " ");

// Pairs of keys of which a scenario may set only one.
const EITHER_OR = [["global_batch", "microbatches"]];

// Returns the edits that give a key a new value, each as [key, value]; an empty value removes the
// key. Other keys that the new value excludes are removed.
export function editsOf(key, value, values, info) {
  const edits = [];
  for (const pair of EITHER_OR)
    if (value !== "" && pair.includes(key))
      for (const partner of pair)
        if (partner !== key && values[partner]) edits.push([partner, ""]);
  if (key === "schedule.name") {
    const accepted = info.schedules.find(({ name }) => name === value)?.takes;
    const choices = info.schedules.flatMap(({ takes }) => takes);
    for (const setting of accepted ? Object.keys(values) : []) {
      const choice = setting.match(/^schedule\.(.*)$/)?.[1];
      if (choices.includes(choice) && !accepted.includes(choice)) edits.push([setting, ""]);
    }
  }
  // If the schedule's name is cleared, the whole section `schedule` is removed.
  return [...edits, key === "schedule.name" && value === "" ? ["schedule", ""] : [key, value]];
}
