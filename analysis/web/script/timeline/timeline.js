// The timeline of one run: a row of passes for each device, over its idle times, and lanes.

const RIGHT_MARGIN = 16;
const MIN_NUMBERED = 7;  // CSS pixels of a pass's width

class Timeline {
  // `settings`: {mode, lanes, counts}; mode and lanes are the user's choices.
  constructor(run, canvas, view, settings) {
    Object.assign(this, { run, canvas, view, settings });
    this.raster = new Raster(run.rows.devices, view.total);
    this.spans = new Map();  // by name of the lane
    this.paired = valuesOf(run.rows.partner).size > 1;
    this.overlay = new Overlay(this);
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `timeline of ${run.name}: ${run.rows.devices} devices, ` +
      `${run.rows.count} passes; arrow keys move from pass to pass`);
    this.arrange();
  }

  arrange() {
    const { run, settings } = this;
    this.layout = new Layout(run.rows.devices, lanesOf(run.lanes), settings.lanes);
    // The passes of a fused pair are stacked if rows are high enough.
    this.halves = this.layout.row >= MIN_HALVED_ROW && this.paired;
  }

  laneSpans(name) {
    if (!this.spans.has(name)) this.spans.set(name, laneSpans(name, this.run));
    return this.spans.get(name);
  }

  laneTones(name) {
    const lane = this.laneSpans(name);
    lane.tones ??= valuesOf(lane.spans.tone);
    return lane.tones;
  }

  rebuild(theme) {
    const { run, settings } = this;
    const { idle, critical } = run.lanes;
    this.theme = theme;
    this.arrange();
    this.paint = passPaint(settings, run, theme);
    const plain = settings.mode === "critical";
    idle.tone ??= groupsOf(idle.cause);
    idle.spans ??= new Spans(idle);
    const ground = plain ? null : new Strip(idle.spans, idleFills(theme));
    this.passes = new PassStrip(run.rows, this.paint.tone, this.paint.fills, rgb(theme.blocked),
                                this.halves, ground);
    this.strips = [this.passes, ...this.layout.lanes.map((name) => {
      const { spans, targetOf } = this.laneSpans(name);
      if (!plain) return new Strip(spans, laneFills(), 1);
      const on = name === "collectives" ? collectivesOnPath(critical)
                                        : ({ transfer }) => critical.transfers[transfer] === 1;
      const tone = spans.tone.map((laneTone, k) =>
        (on(targetOf(k)) ? laneTone : LANE_TONES.length));
      return new Strip(new Spans({ ...spans, tone }), [...laneFills(), rgb(theme.dimmed)], 1);
    })];
  }

  // Image of the rows over a range of time; place() copies its lines to the canvas.
  rasterize({ from, to }, width, grid, gap, strips = this.strips) {
    this.raster.paint(strips, { from, to, width, until: this.run.makespan, grid, gap },
                      this.theme);
    return this.raster.canvas;
  }

  draw(grid) {
    const { run, view, layout, theme } = this;
    const scale =
      sizeCanvas(this.canvas, view.left + view.width + RIGHT_MARGIN, layout.height);
    const context = this.canvas.getContext("2d");
    const image = this.rasterize(view, Math.round(view.width * scale), grid, scale);
    this.place(context, image, scale);
    context.scale(scale, scale);
    context.save();
    context.beginPath();
    context.rect(view.left, 0, view.width, layout.height);
    context.clip();
    const marks = new RowMarks(this, context);
    marks.draw();
    context.restore();
    labelDevices(context, run, layout, view, theme);
    this.overlay.draw();
  }

  // Copies each line of the image to a row, to half of a row, or to a lane.
  place(context, image, scale) {
    const { layout, view, run } = this;
    context.imageSmoothingEnabled = false;
    const left = Math.round(view.left * scale);
    if (layout.lanes.length === 0 && layout.gap === 0 && !this.halves)
      return context.drawImage(image, left, 0, image.width, this.canvas.height);
    let line = 0;
    const put = (top, height) => {
      const from = Math.round(top * scale);
      const to = Math.round((top + height) * scale);
      context.drawImage(image, 0, line++, image.width, 1, left, from, image.width, to - from);
    };
    for (let device = 0; device < run.rows.devices; ++device) {
      if (this.halves)
        for (const half of [0, 1]) put(layout.partTop(device, half), layout.partHeight(true));
      else put(layout.top(device), layout.row);
      layout.lanes.forEach((_, lane) => put(layout.laneTop(device, lane), layout.lane));
    }
  }

  deviceAt(y) {
    const device = Math.floor(y / this.layout.pitch);
    return device >= 0 && device < this.run.rows.devices ? device : null;
  }

  // The element at a point of the canvas, with its device and time: {pass}, {idle}, {transfer},
  // {collective} or {step}, all indices. Between elements there is only {device, time}; outside of
  // the run the result is null.
  at(x, y) {
    const { run, view, layout } = this;
    const place = layout.at(y);
    const time = view.time(x);
    if (!place || place.device < 0 || place.device >= run.rows.devices) return null;
    if (x < view.left || x > view.left + view.width || time < 0 || time > run.makespan) return null;
    const { device, lane } = place;
    if (lane !== null) {
      const { spans, targetOf } = this.laneSpans(layout.lanes[lane]);
      const span = spans.at(device, time);
      return span === NONE ? null : { device, time, lane: layout.lanes[lane], ...targetOf(span) };
    }
    const { rows } = run;
    const low = rows.first[device];
    const pass = firstAbove(rows.start, low, rows.first[device + 1], time) - 1;
    if (pass >= low && time <= rows.end[pass])
      return { device, time, pass: this.passOfPair(pass, y - layout.top(device)) };
    const idle = run.lanes.idle.spans.at(device, time);
    return idle === NONE ? { device, time } : { device, time, idle };
  }

  // The pass itself, or its partner if the point is in the partner's half of the row.
  passOfPair(pass, y) {
    const { rows } = this.run;
    const upper = y < this.layout.partHeight(true);
    return upper === isUpper(rows, pass) ? pass : pass + rows.partner[pass];
  }

  // Position of a pass on the canvas, in CSS pixels.
  boxOf(pass) {
    const { run, view, layout } = this;
    const { rows } = run;
    const device = deviceOf(rows, pass);
    const halved = this.halves && rows.partner[pass] !== 0;
    return {
      device,
      left: view.x(rows.start[pass]),
      right: view.x(rows.end[pass]),
      top: layout.partTop(device, halved && !isUpper(rows, pass) ? 1 : 0),
      height: layout.partHeight(halved),
    };
  }
}

const laneFills = () => LANE_TONES.map((name) => rgb(LANE_COLOURS[name]));

function deviceOf(rows, pass) {
  return firstAbove(rows.first, 0, rows.devices, pass) - 1;
}

// Heights in CSS pixels.
const MIN_LABELLED_ROW = 11;
const MIN_HALVED_ROW = 6;
const ROOM_FOR_ROWS = 768;
const LANES_FROM = 24;          // room per device from which lanes are shown by default
const MAX_HEIGHT = 8000;       // of a canvas, which may have two device pixels per CSS pixel

// Heights and positions of a timeline's rows. Each device has a row of passes, followed by thin lanes
// for outgoing transfers, incoming transfers and collectives if there is room or the user asks for them.
class Layout {
  // `lanes`: names of the run's lanes; `lanesChoice`: true, false, or null to decide by the room.
  constructor(devices, lanes, lanesChoice) {
    const count = Math.max(1, devices);
    const room = Math.floor(ROOM_FOR_ROWS / count);
    const fits = lanes.length > 0 && count * (MIN_HALVED_ROW + 3 * lanes.length) <= MAX_HEIGHT;
    this.lanes = fits && (lanesChoice ?? room >= LANES_FROM) ? lanes : [];
    if (this.lanes.length === 0) {
      this.pitch = Math.min(26, Math.max(1, room));
      this.gap = this.pitch >= 6 ? 2 : this.pitch >= 4 ? 1 : 0;
      this.row = this.pitch - this.gap;
    } else {
      this.lane = Math.min(9, Math.max(3, Math.floor((room - 20) / (this.lanes.length + 1))));
      this.gap = this.lane >= 6 ? 7 : this.lane >= 4 ? 5 : 3;
      this.row = Math.min(24, Math.max(MIN_HALVED_ROW, room - this.lane * this.lanes.length));
      this.pitch = this.row + this.lanes.length * (this.lane + 1) + this.gap;
    }
    this.height = count * this.pitch;
  }

  top(device) {
    return device * this.pitch;
  }

  laneTop(device, lane) {
    return this.top(device) + this.row + 1 + lane * (this.lane + 1);
  }

  // Top of the upper (0) or the lower (1) half of a device's row of passes.
  partTop(device, half) {
    return this.top(device) + half * this.partHeight(true);
  }

  partHeight(halved) {
    return this.row / (halved ? 2 : 1);
  }

  // {device, lane} at a height; `lane` is null in the row of passes. Null between devices.
  at(y) {
    const device = Math.floor(y / this.pitch);
    const inside = y - this.top(device);
    if (inside <= this.row || this.lanes.length === 0) return { device, lane: null };
    const lane = Math.floor((inside - this.row) / (this.lane + 1));
    return lane < this.lanes.length ? { device, lane } : null;
  }
}
