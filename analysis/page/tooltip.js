// What the pointer is on, in words: a head and lines of name and value.

class Tooltip {
  constructor(element) {
    this.element = element;
  }

  show(event, { head, lines }) {
    const title = document.createElement("b");
    title.textContent = head;
    const list = document.createElement("dl");
    for (const [name, value] of lines) {
      list.append(textElement("dt", name), textElement("dd", value));
    }
    this.element.replaceChildren(title, list);
    this.element.hidden = false;
    const { width, height } = this.element.getBoundingClientRect();
    const right = event.clientX + 16 + width > window.innerWidth;
    const below = event.clientY + 16 + height > window.innerHeight;
    const x = right ? Math.max(4, event.clientX - 12 - width) : event.clientX + 16;
    const y = below ? Math.max(4, event.clientY - 12 - height) : event.clientY + 16;
    this.element.style.transform = `translate(${x}px, ${y}px)`;
  }

  hide() {
    this.element.hidden = true;
  }
}

function textElement(tag, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}

class Describer {
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
    return run.hosts[device] ? `device ${device}, ${run.hosts[device]}` : `device ${device}`;
  }

  name(run, pass) {
    const { rows } = run;
    return `${this.kinds[rows.kind[pass]].words} of microbatch ${rows.microbatch[pass]}`;
  }

  pass(run, device, i) {
    const { rows } = run;
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
      ["input ready", this.instant(rows.ready[i])],
      ["idle before", this.length(Math.max(0, rows.start[i] - free))],
    );
    if (rows.released[i] > rows.end[i])
      lines.push(["blocked by its send", this.length(rows.released[i] - rows.end[i])]);
    return { head: this.name(run, i), lines };
  }

  // After the pass `after`, or from the beginning of the run, until the pass `next`.
  gap(run, { device, after, next, time }) {
    const { rows } = run;
    const lines = [["on", this.deviceName(run, device)]];
    if (after !== null && time <= rows.released[after]) {
      lines.push(["until", this.instant(rows.released[after])],
                 ["for", this.length(rows.released[after] - rows.end[after])]);
      return { head: `blocked by the send after ${this.name(run, after)}`, lines };
    }
    const from = after === null ? 0 : rows.released[after];
    const last = next >= rows.first[device + 1];
    const until = last ? run.makespan : rows.start[next];
    lines.push(["from", this.instant(from)], ["until", this.instant(until)],
               ["for", this.length(until - from)]);
    if (!last)
      lines.push(["next", this.name(run, next)], ["its input ready", this.instant(rows.ready[next])]);
    return { head: last ? "idle: all done" : "idle", lines };
  }

  memory(run, { device, time, bytes }) {
    const lines = [
      ["at", this.instant(time)],
      ["holds", formatBytes(bytes)],
      ["peak", formatBytes(peakMemory(run.rows.memory, device, device + 1))],
    ];
    if (run.capacities[device] > 0) lines.push(["capacity", formatBytes(run.capacities[device])]);
    return { head: this.deviceName(run, device), lines };
  }
}
