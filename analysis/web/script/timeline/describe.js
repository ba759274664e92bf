// Describes elements of a timeline in words: a heading and lines of name and value.

import { shortened } from "../elements.js";
import { IDLE_CAUSES, NONE, TRAFFIC } from "../rows.js";
import { formatBytes, formatInstant, formatSeconds } from "../units.js";
import { outputsOf, receiverOf } from "./overlay.js";
import { LANE_WORDS, causeInWords } from "./paints.js";
import { waitWithin } from "./row_marks.js";

export class Describer {
  constructor(kinds, perSecond, total) {
    this.kinds = kinds;
    this.perSecond = perSecond;
    this.total = total;
  }

  instant(ticks) {
    return formatInstant(ticks / this.perSecond, this.total / this.perSecond);
  }

  length(ticks) {
    return formatSeconds(ticks / this.perSecond);
  }

  deviceName(run, device) {
    const host = run.hosts[device] && shortened(run.hosts[device], 80);
    return host ? `device ${device}, ${host}` : `device ${device}`;
  }

  name(run, pass) {
    const { rows } = run;
    return `${this.kinds[rows.kind[pass]].words} of microbatch ${rows.microbatch[pass]}`;
  }

  // Description of the element that Timeline.at returned.
  describe(run, target) {
    if (target.pass !== undefined) return this.pass(run, target.device, target.pass);
    if (target.transfer !== undefined) return this.transfer(run, target.transfer);
    if (target.collective !== undefined) return this.collective(run, target);
    if (target.step !== undefined) return this.step(run, target);
    if (target.idle !== undefined) return this.idle(run, target);
    return null;
  }

  pass(run, device, i) {
    const { rows, lanes } = run;
    const partner = rows.partner[i];
    const before = Math.min(i, i + partner) - 1;
    const free = before >= rows.first[device] ? rows.released[before] : 0;
    const lines = [["on", this.deviceName(run, device)], ["stage", String(rows.stage[i])]];
    if (run.chunks > 1) lines.push(["chunk", String(rows.chunk[i])]);
    if (partner !== 0) lines.push(["fused with", this.name(run, i + partner)]);
    if (run.iterations > 1) lines.push(["iteration", String(rows.iteration[i])]);
    lines.push(
      ["start", this.instant(rows.start[i])],
      ["end", this.instant(rows.end[i])],
      ["duration", this.length(rows.end[i] - rows.start[i])],
    );
    const wait = waitWithin(run, i, device);
    if (wait > 0) lines.push(["collectives within", this.length(wait)]);
    lines.push(["input ready", this.instant(rows.ready[i])],
               ["idle before", this.length(Math.max(0, rows.start[i] - free))]);
    if (rows.released[i] > rows.end[i])
      lines.push(["blocked by its send", this.length(rows.released[i] - rows.end[i])]);
    const input = lanes.transfers.input[i];
    if (input !== NONE)
      lines.push(["input", this.fromSource(run, input)]);
    for (const output of outputsOf(lanes.transfers, i))
      lines.push(["output", this.movement(run, output,
                                          `to device ${receiverOf(lanes.transfers, output)}`)]);
    if (lanes.critical.passes[i] === 1) lines.push(["critical path", "yes"]);
    return { head: this.name(run, i), lines };
  }

  // Description of a transfer in one line.
  movement(run, i, endpoint) {
    const { transfers } = run.lanes;
    const link = this.linkOf(run, i);
    const size = transfers.bytes[i] > 0 ? `${formatBytes(transfers.bytes[i])} ` : "";
    return `${size}${endpoint}, sent ${this.instant(transfers.posted[i])}, ` +
      `arrived ${this.instant(transfers.end[i])}${link ? `, ${link}` : ""}`;
  }

  fromSource(run, i) {
    return this.movement(run, i, `from device ${run.lanes.transfers.source[i]}`);
  }

  pathOf(run, i) {
    const { transfers, paths } = run.lanes;
    const traffic = TRAFFIC[transfers.kind[i]];
    const [from, to] = [transfers.source[i], receiverOf(transfers, i)];
    return paths.get(`${traffic} ${from} ${to} 0`) ??
      paths.get(`${traffic} ${from} ${to} ${transfers.stage[i]}`);
  }

  linkName(run, link) {
    const name = run.links?.[link]?.name;
    return name === undefined ? null : shortened(String(name), 60);
  }

  linkOf(run, i) {
    return this.linkName(run, this.pathOf(run, i)?.link);
  }

  transfer(run, i) {
    const { transfers, critical } = run.lanes;
    const tensor = LANE_WORDS[TRAFFIC[transfers.kind[i]]];
    const length = transfers.end[i] - transfers.start[i];
    const lines = [
      ["from", this.deviceName(run, transfers.source[i])],
      ["to", this.deviceName(run, receiverOf(transfers, i))],
      ["sent", this.instant(transfers.posted[i])],
    ];
    if (transfers.bytes[i] > 0) lines.push(["bytes", formatBytes(transfers.bytes[i])]);
    if (transfers.start[i] > transfers.posted[i])
      lines.push(["rendezvous", this.length(transfers.start[i] - transfers.posted[i])]);
    lines.push(["arrived", this.instant(transfers.end[i])], ["duration", this.length(length)]);
    const rate = Math.round(transfers.bytes[i] / (length / this.perSecond));
    if (length > 0 && rate > 0) lines.push(["rate", `${formatBytes(rate)}/s`]);
    const path = this.pathOf(run, i);
    if (path && path.alone > 0) lines.push(["duration alone", this.length(path.alone)]);
    const link = this.linkOf(run, i);
    if (link) lines.push(["narrowest link", link]);
    if (critical.transfers[i] === 1) lines.push(["critical path", "yes"]);
    return { head: `${tensor} of stage ${transfers.stage[i]}, microbatch ${transfers.microbatch[i]}`,
             lines };
  }

  collective(run, { device, collective: i, name }) {
    const { collectives } = run.lanes;
    const lines = [["on", this.deviceName(run, device)], ["stage", String(collectives.stage[i])]];
    if (run.iterations > 1) lines.push(["iteration", String(collectives.iteration[i])]);
    lines.push(["bytes per GPU", formatBytes(collectives.bytes[i])],
               ["ready", this.instant(collectives.posted[i])]);
    if (collectives.start[i] > collectives.posted[i])
      lines.push(["waits for peers", this.length(collectives.start[i] - collectives.posted[i])]);
    lines.push(["start", this.instant(collectives.start[i])],
               ["end", this.instant(collectives.end[i])],
               ["duration", this.length(collectives.end[i] - collectives.start[i])]);
    return { head: LANE_WORDS[name], lines };
  }

  step(run, { device, step, name, start, end }) {
    const { steps } = run.lanes;
    const lines = [["on", this.deviceName(run, device)]];
    if (run.iterations > 1) lines.push(["iteration", String(steps.iteration[step])]);
    lines.push(["start", this.instant(start)], ["end", this.instant(end)],
               ["duration", this.length(end - start)]);
    return { head: LANE_WORDS[name], lines };
  }

  idle(run, { device, idle: i }) {
    const { rows, lanes } = run;
    const { idle, transfers } = lanes;
    const next = idle.next[i];
    const input = next === NONE ? NONE : transfers.input[next];
    const cause = IDLE_CAUSES[idle.cause[i]];
    const lines = [["on", this.deviceName(run, device)]];
    const maker = input === NONE ? NONE : transfers.maker[input];
    if (cause === "input" && maker !== NONE)
      lines.push(["computed on", `device ${transfers.source[input]} until ` +
                                 this.instant(rows.end[maker])]);
    if (input !== NONE && (cause === "transfer" || cause === "rendezvous"))
      lines.push(["input", this.fromSource(run, input)]);
    lines.push(["from", this.instant(idle.start[i])], ["until", this.instant(idle.end[i])],
               ["for", this.length(idle.end[i] - idle.start[i])]);
    const before = (next === NONE ? rows.first[device + 1] : next) - 1;
    if (cause === "blocked_send" && before >= rows.first[device])
      lines.push(["sends the result of", this.name(run, before)]);
    if (next !== NONE) lines.push(["next", this.name(run, next)]);
    return { head: causeInWords(idle.cause[i], idle.stage[i], idle.microbatch[i]), lines };
  }
}
