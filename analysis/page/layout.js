// How high the rows of a timeline are: for each device its passes and below them, where there is
// room or a reader wants them, thin lanes for what goes out, comes in, and collectives.

const LEAST_LABELLED_ROW = 11;  // CSS pixels, as all sizes here
const LEAST_HALVED_ROW = 6;
const ROOM_FOR_ROWS = 768;
const LANES_FROM = 24;          // the height of a device from which lanes show by themselves
const MOST_HEIGHT = 8000;       // of a canvas, with room for screens of two pixels a pixel

class Layout {
  // `lanes`: names of those that the run has something for; `wanted`: true, false, or null for what
  // the room says.
  constructor(devices, lanes, wanted) {
    const count = Math.max(1, devices);
    const room = Math.floor(ROOM_FOR_ROWS / count);
    const fits = lanes.length > 0 && count * (LEAST_HALVED_ROW + 3 * lanes.length) <= MOST_HEIGHT;
    this.lanes = fits && (wanted ?? room >= LANES_FROM) ? lanes : [];
    if (this.lanes.length === 0) {
      this.pitch = Math.min(26, Math.max(1, room));
      this.gap = this.pitch >= 6 ? 2 : this.pitch >= 4 ? 1 : 0;
      this.row = this.pitch - this.gap;
    } else {
      this.lane = Math.min(9, Math.max(3, Math.floor((room - 20) / (this.lanes.length + 1))));
      this.gap = this.lane >= 6 ? 7 : this.lane >= 4 ? 5 : 3;
      this.row = Math.min(24, Math.max(LEAST_HALVED_ROW, room - this.lane * this.lanes.length));
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

  // Of half of a device's row of passes: 0 the upper, 1 the lower.
  partTop(device, half) {
    return this.top(device) + half * this.partHeight(true);
  }

  partHeight(halved) {
    return this.row / (halved ? 2 : 1);
  }

  // {device, lane} at a height, `lane` null in the row of passes; null between devices.
  at(y) {
    const device = Math.floor(y / this.pitch);
    const inside = y - this.top(device);
    if (inside <= this.row || this.lanes.length === 0) return { device, lane: null };
    const lane = Math.floor((inside - this.row) / (this.lane + 1));
    return lane < this.lanes.length ? { device, lane } : null;
  }
}
