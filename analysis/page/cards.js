// The first figures of a run, large.

function runCards(run) {
  const { summary } = run;
  const cards = document.createElement("div");
  cards.className = "cards";
  const add = (anchor, name, value, ...notes) => {
    const card = document.createElement("div");
    card.className = "card";
    card.append(metricLink(anchor, name), textElement("b", noBreak(value)));
    for (const note of notes) if (note) card.append(textElement("small", noBreak(note)));
    cards.append(card);
    return card;
  };

  const iterations = run.iterations > 1 ? `of ${run.iterations} iterations` : "of an iteration";
  add("makespan", "time", formatSeconds(summary.makespan_s), iterations);
  if (summary.tokens_per_s !== null)
    add("throughput", "throughput", formatRate(summary.tokens_per_s, "tokens"),
        summary.samples_per_s === null ? "" : formatRate(summary.samples_per_s, "samples"));
  else if (summary.samples_per_s !== null)
    add("throughput", "throughput", formatRate(summary.samples_per_s, "samples"));
  if (summary.mfu !== null)
    add("mfu", "MFU", formatPercent(summary.mfu),
        `${(summary.model_flops_per_gpu / 1e12).toFixed(1)} TFLOP/s a GPU`);
  else if (summary.model_flops_per_gpu !== null)
    add("mfu", "TFLOP/s a GPU", (summary.model_flops_per_gpu / 1e12).toFixed(1));
  add("bubble-ratio", "bubble ratio", formatPercent(summary.bubble_ratio),
      `span bubble ${formatSeconds(summary.span_bubble_s)}`);
  const exposed = summary.exposed_communication_s;
  add("exposed-communication", "exposed communication", formatSeconds(exposed),
      summary.makespan_s > 0 ? `${formatPercent(exposed / summary.makespan_s)} of time` : "");
  addMemory(summary, add);
  return cards;
}

function addMemory(summary, add) {
  const most = largestPeak(summary);
  if (!most) return;
  const fullest = fullestOf(summary);
  const share = fullest && ofCapacity(fullest);
  const card = add("memory-peak", "memory peak", formatBytes(most.peak_memory_bytes),
    fullest ? `${formatPercent(share)} of ${formatBytes(fullest.memory_capacity_bytes)}` : "");
  if (!fullest) return;
  const meter = mark("meter");
  const filled = document.createElement("i");
  filled.style.width = `${Math.min(100, 100 * share)}%`;
  meter.append(filled);
  card.append(meter);
  const over = summary.devices.filter((device) =>
    device.memory_capacity_bytes > 0 && device.peak_memory_bytes > device.memory_capacity_bytes);
  if (over.length === 0) return;
  card.classList.add("over");
  card.append(warning(`does not fit on ${over.length} of ${summary.devices.length} devices`));
}
