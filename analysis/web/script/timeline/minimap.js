// A small image of the whole run, on which the visible range is a window that can be dragged.

import { mark } from "../elements.js";
import { FONT, sizeCanvas } from "../theme.js";
import { RIGHT_MARGIN } from "./view.js";

const MINIMAP_HEIGHT = 40;
const MINIMAP_EDGE = 7;  // CSS pixels at both sides of the window that resize it

export class Minimap {
  constructor(before, timelines, view, describer) {
    Object.assign(this, { timelines, view, describer });
    this.host = document.createElement("div");
    this.host.id = "minimap";
    this.canvas = document.createElement("canvas");
    this.window = mark("window", "div");
    this.window.tabIndex = 0;
    this.window.setAttribute("role", "slider");
    this.window.setAttribute("aria-label", "visible range of time");
    this.window.setAttribute("aria-valuemin", "0");
    this.window.setAttribute("aria-valuemax", "100");
    this.shades = [document.createElement("i"), document.createElement("i")];
    this.host.append(this.canvas, ...this.shades, this.window);
    before.before(this.host);
    this.listen();
  }

  // Redraws the image of all runs; draw() then places the window of the visible range on it.
  rebuild() {
    const { view, timelines } = this;
    const room = view.left + view.width + RIGHT_MARGIN;
    const scale = sizeCanvas(this.canvas, room, MINIMAP_HEIGHT);
    const context = this.canvas.getContext("2d");
    const width = Math.round(view.width * scale);
    const runHeight = (MINIMAP_HEIGHT * scale) / timelines.length;
    timelines.forEach((timeline, k) => {
      const whole = { from: 0, to: view.total };
      const image = timeline.rasterize(whole, width, [], 0, [timeline.passes]);
      context.imageSmoothingEnabled = image.height > runHeight;
      const height = Math.round(runHeight) - (k + 1 < timelines.length);
      context.drawImage(image, 0, 0, width, image.height, Math.round(view.left * scale),
                        Math.round(k * runHeight), width, height);
    });
    context.scale(scale, scale);
    context.font = `11px ${FONT}`;
    context.textBaseline = "middle";
    context.fillStyle = timelines[0].theme.faint;
    context.fillText("whole run", 0, MINIMAP_HEIGHT / 2);
  }

  x(time) {
    return this.view.left + (time / this.view.total) * this.view.width;
  }

  time(x) {
    return ((x - this.view.left) / this.view.width) * this.view.total;
  }

  draw() {
    const { view, describer } = this;
    const [left, right] = [this.x(view.from), this.x(view.to)];
    const shown = Math.max(4, right - left);
    this.window.style.left = `${Math.min(left, this.x(view.total) - shown)}px`;
    this.window.style.width = `${shown}px`;
    const end = this.x(view.total);
    const place = (shade, from, to) => {
      shade.style.left = `${from}px`;
      shade.style.width = `${Math.max(0, to - from)}px`;
    };
    place(this.shades[0], view.left, left);
    place(this.shades[1], right, end);
    this.window.setAttribute("aria-valuenow",
                             ((50 * (view.from + view.to)) / view.total).toFixed(1));
    this.window.setAttribute("aria-valuetext",
                             `${describer.instant(view.from)} to ${describer.instant(view.to)}`);
  }

  listen() {
    const { host, view } = this;
    const place = (event) => event.clientX - host.getBoundingClientRect().left;
    let drag = null;
    host.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      this.window.focus({ preventScroll: true });
      host.setPointerCapture(event.pointerId);
      drag = this.gripAt(place(event));
    });
    host.addEventListener("pointermove", (event) => {
      const x = place(event);
      if (!drag) {
        const grip = this.gripAt(x);
        host.style.cursor = { left: "ew-resize", right: "ew-resize", middle: "grab" }[grip.part] ??
          "crosshair";
        return;
      }
      this.dragTo(drag, this.time(x));
    });
    host.addEventListener("pointerup", (event) => {
      // A click beside the window centres it there.
      if (drag?.part === "new" && Math.abs(place(event) - this.x(drag.time)) < 3)
        view.pan(drag.time - (view.from + view.to) / 2);
      drag = null;
    });
    host.addEventListener("pointercancel", () => { drag = null; });
    host.addEventListener("dblclick", () => view.fit());
    this.window.addEventListener("keydown", (event) => {
      if (event.key === "Home") view.pan(-view.total);
      else if (event.key === "End") view.pan(view.total);
      else return;
      event.preventDefault();
    });
  }

  // Returns the part of the visible window under the pointer: an edge, its middle, or none. A drag
  // that starts at none makes a new window.
  gripAt(x) {
    const { view } = this;
    const [left, right] = [this.x(view.from), this.x(view.to)];
    const near = (edge) => Math.abs(x - edge) <= MINIMAP_EDGE;
    const narrow = right - left < 4 * MINIMAP_EDGE;
    const time = this.time(x);
    const range = { time, from: view.from, to: view.to };
    if (near(left) && (!narrow || x < left)) return { ...range, part: "left" };
    if (near(right) && (!narrow || x > right)) return { ...range, part: "right" };
    const inside = x > left - MINIMAP_EDGE && x < right + MINIMAP_EDGE;
    return { ...range, part: inside && !view.fitted ? "middle" : "new" };
  }

  dragTo({ part, time, from, to }, now) {
    const { view } = this;
    if (part === "middle") {
      const shift = Math.min(Math.max(now - time, -from), view.total - to);
      view.show(from + shift, to + shift);
      return;
    }
    if (part === "new" && Math.abs(this.x(now) - this.x(time)) < 3) return;
    const fixed = { left: to, right: from, new: time }[part];
    const clamped = Math.min(Math.max(now, 0), view.total);
    view.show(Math.min(fixed, clamped), Math.max(fixed, clamped));
  }
}
