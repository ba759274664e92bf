// The devices of a run: where their time goes and what they hold.

function deviceTable(run) {
  const { summary } = run;
  const total = summary.makespan_s;
  const devices = summary.devices.map((device) => ({
    ...device,
    idle: total > 0 ? 1 - device.busy_s / total : 0,
    span: device.end_s - device.start_s - device.busy_s,
    capacity: device.memory_capacity_bytes ? ofCapacity(device) : null,
  }));
  const column = (head, anchor, value, text) => ({
    head, anchor, value,
    cell: (device) => (value(device) === null ? "\u2013" : text(value(device))),
  });
  const seconds = (head, anchor, value) => column(head, anchor, value, formatSeconds);
  const any = (value) => devices.some((device) => value(device) > 0);
  const parts = [
    ["exposed p2p", (device) => device.exposed.p2p_s],
    ["in passes", (device) => device.exposed.in_passes_s],
    ["gradients", (device) => device.exposed.gradients_s],
    ["weights", (device) => device.exposed.weights_s],
  ].filter(([, value]) => any(value));
  const columns = [
    column("device", null, (device) => device.device, String),
    ...(run.hosts.some((host) => host !== "")
      ? [{ head: "host", value: (device) => device.host,
           cell: (device) => nameElement("span", device.host) }] : []),
    column("passes", null, (device) => device.passes, String),
    seconds("busy", "busy", (device) => device.busy_s),
    column("idle", "idle", (device) => device.idle, formatPercent),
    ...parts.map(([head, value]) => seconds(head, "exposed-communication", value)),
    seconds("exposed", "exposed-communication", (device) => device.exposed_communication_s),
    ...(any((device) => device.optimizer_step_s)
      ? [seconds("optimizer step", "optimizer-step", (device) => device.optimizer_step_s)] : []),
    seconds("span bubble", "span-bubble", (device) => rounded(device.span, total)),
    column("in flight", "in-flight", (device) => device.peak_in_flight,
           (count) => String(Number(count.toFixed(2)))),
    ...(any((device) => device.peak_memory_bytes)
      ? [column("memory peak", "memory-peak", (device) => device.peak_memory_bytes, formatBytes)]
      : []),
    ...(any((device) => device.capacity ?? 0)
      ? [{ ...column("of capacity", "memory-peak", (device) => device.capacity, formatPercent),
           cell: (device) => capacityCell(device.capacity) }] : []),
  ];
  return sortableTable(columns, devices);
}

// Sums of times leave dust.
const rounded = (seconds, total) => (Math.abs(seconds) < 1e-12 * total ? 0 : seconds);

function capacityCell(share) {
  if (share === null) return "\u2013";
  return share > 1 ? warning(formatPercent(share)) : formatPercent(share);
}
