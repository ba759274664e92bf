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
