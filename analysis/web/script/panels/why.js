// Explanation of a run's duration, as `pipewright why` gives it.

import {
  barLegend, detailsElement, mark, metricLink, nameElement, shortened, stackedBar, textElement
} from "../elements.js";
import { page } from "../page_data.js";
import { onPrint, sortableTable } from "../tables.js";
import { formatBytes, formatPercent, formatSeconds, noBreak } from "../units.js";

const TIME_FILLS = page.time_fills;
const hatch = (dark, light) => `repeating-linear-gradient(135deg, ${dark} 0 2px, ${light} 2px 5px)`;
const BUBBLES = {
  warm_up_s: ["bubble: warm-up", TIME_FILLS.warm_up_s],
  steady_s: ["bubble: steady", TIME_FILLS.steady_s],
  cool_down_s: ["bubble: cool-down", TIME_FILLS.cool_down_s],
  replicas_s: ["other replicas", hatch(TIME_FILLS.steady_s, TIME_FILLS.warm_up_s)],
  imbalance_s: ["bubble: imbalance", hatch(TIME_FILLS.cool_down_s, TIME_FILLS.warm_up_s)],
};
const WAITS = {
  in_passes_s: ["collectives in passes", TIME_FILLS.in_passes_s],
  p2p_s: ["transfers", TIME_FILLS.p2p_s],
  weights_s: ["weights gathered", TIME_FILLS.weights_s],
  gradients_s: ["gradients reduced", TIME_FILLS.gradients_s],
  embeddings_s: ["embeddings reduced", TIME_FILLS.embeddings_s],
  norm_s: ["norm of gradients", TIME_FILLS.norm_s],
  optimizer_s: ["optimizer's step", TIME_FILLS.optimizer_s],
};
// Colours of the critical path's parts, by name; other parts are waits and have the colour of bubbles.
const PART_FILLS = {
  ...Object.fromEntries(Object.values(WAITS)),
  "rendezvous": hatch(TIME_FILLS.p2p_s, TIME_FILLS.warm_up_s),
  "blocked sends": hatch(TIME_FILLS.p2p_s, TIME_FILLS.warm_up_s),
  "other replicas": TIME_FILLS.steady_s,
};

function kindOf(run, letter) {
  const k = page.kinds.findIndex((kind) => kind.letter === letter);
  const shades = run.colours[k];
  return { words: page.kinds[k].words, fill: shades[Math.floor(shades.length / 2)].fill };
}

function pathParts(run) {
  const { critical_path: path, makespan_s: total } = run.why;
  return path.parts.map((part) => {
    const link = part.link_class ? ` over ${shortened(part.link_class, 40)}` : "";
    const waited = part.contention_s > 0
      ? `, ${formatSeconds(part.contention_s)} of it for other flows` : "";
    const { words, fill } = part.kind
      ? kindOf(run, part.kind)
      : { words: part.part + link, fill: PART_FILLS[part.part] ?? TIME_FILLS.warm_up_s };
    const text = `${formatSeconds(part.seconds)}, ${formatPercent(part.seconds / total)}${waited}`;
    return { words, fill, share: part.seconds / total, text };
  });
}

// Parts of a device's time, in the order of its bar.
function timeParts(run, device) {
  const total = run.why.makespan_s;
  const part = (words, fill, seconds) => ({
    words, fill, share: seconds / total, seconds,
    text: `${formatSeconds(seconds)}, ${formatPercent(seconds / total)}`,
  });
  return [
    ...Object.entries(device.compute_s).map(([letter, seconds]) => {
      const { words, fill } = kindOf(run, letter);
      return part(words, fill, seconds);
    }),
    ...Object.entries({ ...WAITS, ...BUBBLES })
      .map(([key, [words, fill]]) => part(words, fill, device[key] ?? 0)),
  ];
}

const MIN_SHARE = 1e-9;  // of the run; smaller parts are rounding errors of sums

function deviceBars(run, maxDevices = 16) {
  const partsOfDevices = run.why.devices.map((device) => timeParts(run, device));
  const isUsed = (_, k) => partsOfDevices.some((parts) => parts[k].share > MIN_SHARE);
  const used = (partsOfDevices[0] ?? []).filter(isUsed);
  const rows = mark("bars", "div");
  const add = (from, to) => {
    for (let device = from; device < to; ++device) {
      const parts = partsOfDevices[device].filter(({ share }) => share > MIN_SHARE);
      const name = `device ${run.why.devices[device].device}`;
      rows.append(textElement("span", name), stackedBar(parts));
    }
  };
  add(0, Math.min(maxDevices, partsOfDevices.length));
  if (partsOfDevices.length > maxDevices) {
    const more = textElement("button", `show all ${partsOfDevices.length}`);
    more.onclick = () => {
      more.remove();
      add(maxDevices, partsOfDevices.length);
    };
    rows.append(more);
    onPrint((printing) => printing && more.isConnected && more.click());
  }
  return [barLegend(used.map(({ words, fill }) => ({ words, fill }))), rows];
}

const rangeText = ([low, high], format) =>
  (low === high ? format(high) : `${format(low)} to ${format(high)}`);

function passCollectiveTable(run) {
  const range = (head, key) => ({
    head, anchor: "pass-collectives", value: (row) => row[key][1],
    cell: (row) => rangeText(row[key], formatSeconds),
  });
  const name = (row) => `${row.group} ${row.operation}`;
  return sortableTable([
    { head: "collective", value: name, cell: (row) => nameElement("span", name(row)) },
    { head: "calls per GPU", value: (row) => row.calls, cell: (row) => String(row.calls) },
    { head: "bytes", value: (row) => row.bytes, cell: (row) => formatBytes(row.bytes) },
    range("time", "seconds"),
    range("exposed", "exposed_s"),
  ], run.why.pass_collectives);
}

// Returns the rows of the slack table: passes by stage, and transfers by link class. If there are
// more than `maxStages` stages, the costliest come first; all transfers are among the visible rows.
function slackRows({ stages, links }, maxStages) {
  const ofStages = stages.map((stage) => ({
    subject: `passes of stage ${stage.stage}`, mean: stage.mean_pass_s, ...stage,
  }));
  const ofLinks = links.map((link) => ({
    subject: link.link_class ? `transfers over ${shortened(link.link_class, 60)}` : "transfers",
    mean: link.mean_transfer_s, ...link,
  }));
  if (ofStages.length <= maxStages) return [...ofStages, ...ofLinks];
  ofStages.sort((a, b) => (b.cost_of_10_percent_s ?? 0) - (a.cost_of_10_percent_s ?? 0));
  return [...ofStages.slice(0, maxStages), ...ofLinks, ...ofStages.slice(maxStages)];
}

function slackTable(run) {
  const maxStages = 16;
  const rows = slackRows(run.why.slack, maxStages);
  // Slack is "any" for passes and transfers that never lengthen the run, however slow they are.
  const number = (head, value, text) => ({
    head, anchor: "slack", value: (row) => value(row) ?? Infinity,
    cell: (row) => (value(row) === null || value(row) === undefined ? "any" : text(value(row))),
  });
  return sortableTable([
    { head: "passes or transfers", value: (row) => row.subject,
      cell: (row) => nameElement("span", row.subject) },
    number("mean time", (row) => row.mean, formatSeconds),
    number("slack", (row) => row.slack, formatPercent),
    number("slack, time", (row) => row.slack_s, formatSeconds),
    number("cost of 10 % slowdown", (row) => row.cost_of_10_percent_s, formatSeconds),
  ], rows, maxStages + run.why.slack.links.length);
}

export function whyPart(run) {
  const path = pathParts(run);
  const heading = (anchor, words) => {
    const title = document.createElement("h3");
    title.append(metricLink(anchor, words));
    return title;
  };
  // Critical path and slack need the arrival times of inputs, which not all traces have.
  const ifInputsKnown = (parts) => (run.why.knows_inputs ? parts() : []);
  return detailsElement("why it takes this long", true,
    textElement("p", noBreak(run.why.verdict), "verdict"),
    ...ifInputsKnown(() =>
      [heading("critical-path", "critical path"), stackedBar(path), barLegend(path)]),
    heading("time-split", "where each device's time goes"), ...deviceBars(run),
    ...(run.why.pass_collectives.length > 0
      ? [heading("pass-collectives", "collectives in passes"), passCollectiveTable(run)] : []),
    ...ifInputsKnown(() => [heading("slack", "slack"), slackTable(run)]));
}
