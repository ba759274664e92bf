// The memory of a run below its timeline: the components of a selected device, and the lines of all
// devices.

import {
  captionLine, colourEntry, mark, metricLink, shortened, textElement, warning
} from "../elements.js";
import { perSecond } from "../rows.js";
import { formatBytes, formatInstant, formatPercent } from "../units.js";
import { MemoryLines, capacitiesOf, heldBefore, peakMemory } from "./memory.js";
import { MemoryStack } from "./memory_stack.js";

export class MemoryPanel {
  constructor(run, categories, view, maxBytes) {
    this.run = run;
    this.categories = categories;
    this.element = mark("memory-panel", "div");
    this.caption = captionLine();
    this.legend = captionLine();
    this.stackElement = mark("memory stack", "div");
    this.element.append(this.caption, this.stackElement, this.legend);
    this.stack = new MemoryStack(run, categories, this.stackElement, view, maxBytes);
    if (run.rows.devices > 1) {
      this.linesElement = mark("memory lines", "div");
      this.element.append(this.linesCaption(maxBytes), this.linesElement);
      this.lines = new MemoryLines(run, this.linesElement, view, maxBytes);
    }
    this.select = deviceSelect(run);
    this.select.onchange = () => this.choose(Number(this.select.value));
    this.describeDevice();
  }

  // The uPlot charts, which are redrawn when the view or the theme changes.
  get charts() {
    return this.lines ? [this.stack, this.lines] : [this.stack];
  }

  // Chart elements with tooltips, each with a function that returns what the chart shows at a
  // point.
  get targets() {
    const targets = [[this.stackElement, (x) => this.stack.at(x)]];
    if (this.lines) targets.push([this.linesElement, (x, y) => this.lines.at(x, y)]);
    return targets;
  }

  // Selects a device when its row or its line is clicked; releasing the mouse after a drag is no
  // click.
  listen(canvas, deviceAt) {
    const clicked = (target, device) => {
      let down = null;
      target.addEventListener("pointerdown", (event) => { down = event; }, { capture: true });
      target.addEventListener("click", (event) => {
        const moved = down && Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY);
        if (moved > 3) return;
        const { left, top } = target.getBoundingClientRect();
        const clickedDevice = device(event.clientX - left, event.clientY - top);
        if (clickedDevice !== null && clickedDevice !== undefined) this.choose(clickedDevice);
      });
    };
    clicked(canvas, (x, y) => deviceAt(y));
    if (this.lines) clicked(this.linesElement, (x, y) => this.lines.at(x, y)?.device);
  }

  choose(device) {
    this.stack.device = device;
    this.describeDevice();
    for (const { chart } of this.charts) chart?.redraw();
  }

  describeDevice() {
    const { run, categories, stack: { device } } = this;
    if (this.lines) this.lines.chosen = device;
    this.select.value = String(device);
    const { peak_memory_bytes: peak, memory_capacity_bytes: capacity, peak_time_s: time,
            over_since_s: since } = run.summary.devices[device];
    const instant = (seconds) => formatInstant(seconds, run.makespan / perSecond);
    const held = heldAtPeak(run, device);
    const words = peak > 0
      ? `peak ${formatBytes(peak)} at ${instant(time)}` : "";
    const share = capacity ? `, ${formatPercent(peak / capacity)} of` : "";
    this.caption.replaceChildren(metricLink("memory-peak", "memory of"), this.select,
                                 textElement("span", words + share));
    if (capacity) {
      const shown = capacity <= this.stack.maxBytes;
      if (shown) this.caption.append(mark("dash"));
      const above = shown ? "" : " (above this chart)";
      const size = formatBytes(capacity);
      this.caption.append(textElement("span", `capacity ${size}${above}`));
    }
    if (capacity && peak > capacity)
      this.caption.append(warning(`does not fit: ${formatBytes(peak - capacity)} over capacity, ` +
                                  `from ${instant(since)} on`));

    this.legend.replaceChildren(textElement("span", "at its peak:"));
    categories.forEach((category, k) => {
      if (held[k] === 0 && !this.everHeld(k)) return;
      this.legend.append(colourEntry(category.fill, `${category.words} ${formatBytes(held[k])}`));
    });
  }

  everHeld(category) {
    const { first, category: of, held } = this.run.memory;
    for (let i = first[this.stack.device]; i < first[this.stack.device + 1]; ++i)
      if (of[i] === category && held[i] > 0) return true;
    return false;
  }

  linesCaption(maxBytes) {
    const { run } = this;
    const line = captionLine();
    line.append(textElement("span", "all devices, 0"), mark("ramp"),
                textElement("span", String(run.rows.devices - 1)));
    const above = capacitiesOf(run).filter((bytes) => bytes > maxBytes);
    const sizes = above.map(formatBytes).join(", ");
    if (above.length > 0) line.append(textElement("span", `capacity ${sizes} (above this chart)`));
    line.append(textElement("span", "click a line to see its components"));
    return line;
  }
}

// Bytes that a device holds in each category at its memory peak.
function heldAtPeak(run, device) {
  const { memory } = run;
  const peak = peakMemory(memory, device, device + 1);
  let i = memory.first[device];
  while (i < memory.first[device + 1] && memory.bytes[i] < peak) ++i;
  return heldBefore(memory, device, Math.min(i + 1, memory.first[device + 1]));
}

function deviceSelect(run) {
  const select = document.createElement("select");
  select.setAttribute("aria-label", "device whose memory is shown");
  run.hosts.forEach((host, device) => {
    const name = host ? `, ${shortened(host, 40)}` : "";
    const option = textElement("option", `device ${device}${name}`);
    option.value = String(device);
    select.append(option);
  });
  return select;
}

// Description of a device's memory at a time, for the tooltip.
export function describeMemory(describer, run, categories, { device, time, held }) {
  const bytes = held.reduce((sum, bytesHeld) => sum + bytesHeld, 0);
  const lines = [["at", describer.instant(time)], ["holds", formatBytes(bytes)]];
  categories.forEach(({ words }, k) => {
    if (held[k] > 0) lines.push([words, formatBytes(held[k])]);
  });
  lines.push(["peak", formatBytes(run.summary.devices[device].peak_memory_bytes)]);
  const capacity = run.capacities[device];
  if (capacity > 0) lines.push(["capacity", formatBytes(capacity)]);
  return { head: describer.deviceName(run, device), lines };
}
