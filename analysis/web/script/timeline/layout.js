// Heights and positions of a timeline's rows, in CSS pixels.

export const MIN_NUMBERED = 7;  // width of a pass
export const MIN_LABELLED_ROW = 11;
export const MIN_HALVED_ROW = 6;
const ROOM_FOR_ROWS = 768;
const LANES_FROM = 24;    // room per device from which lanes are shown by default
const MAX_HEIGHT = 8000;  // of a canvas, which may have two device pixels per CSS pixel

// Layout of a timeline. Each device has a row of passes, followed by thin lanes for outgoing transfers,
// incoming transfers and collectives if there is room or the user asks for them.
export class Layout {
  // `lanes`: names of the run's lanes; `lanesChoice`: true or false to show or hide them, null to
  // show them if there is room.
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

  // Returns the {device, lane} at a vertical position; `lane` is null in the row of passes. Returns
  // null in the gap between devices.
  at(y) {
    const device = Math.floor(y / this.pitch);
    const inside = y - this.top(device);
    if (inside <= this.row || this.lanes.length === 0) return { device, lane: null };
    const lane = Math.floor((inside - this.row) / (this.lane + 1));
    return lane < this.lanes.length ? { device, lane } : null;
  }
}
