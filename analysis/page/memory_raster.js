// The lines of many devices as an image: strokes of so many points would cost the timeline frames.

class MemoryRaster {
  constructor() {
    this.canvas = document.createElement("canvas");
  }

  // `colours`: of each device, [red, green, blue]; `until`: where the run ends.
  paint(memory, colours, { from, to, width, height, most, until }) {
    this.canvas.width = width;
    this.canvas.height = height;
    const context = this.canvas.getContext("2d");
    const image = context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const end = Math.min(width, Math.ceil(((until - from) / (to - from)) * width));
    const row = (bytes) =>
      Math.min(height - 1, Math.max(0, Math.round((1 - bytes / most) * height)));
    colours.forEach(([red, green, blue], device) => {
      const colour = (255 << 24) | (blue << 16) | (green << 8) | red;
      const last = memory.first[device + 1];
      let i = firstAbove(memory.time, memory.first[device], last, from);
      let level = row(i > memory.first[device] ? memory.bytes[i - 1] : 0);
      for (let x = 0; x < end; ++x) {
        // All that happens within a pixel column is one stroke from the least to the most.
        const edge = from + ((x + 1) / width) * (to - from);
        let top = level;
        let bottom = level;
        for (; i < last && memory.time[i] < edge; ++i) {
          level = row(memory.bytes[i]);
          if (level < top) top = level;
          if (level > bottom) bottom = level;
        }
        for (let y = top; y <= bottom; ++y) pixels[y * width + x] = colour;
      }
    });
    context.putImageData(image, 0, 0);
    return this.canvas;
  }
}
