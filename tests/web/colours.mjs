// Computes how different colours look, for normal and for dichromatic vision.

// Full dichromacy on linear RGB: Machado, Oliveira and Fernandes, "A Physiologically-based Model
// for Simulation of Color Vision Deficiency" (2009), severity 1.
const EYES = {
  normal: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
           [-0.003882, -0.048116, 1.051998]],
  deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
           [-0.01182, 0.04294, 0.968881]],
  tritan: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
           [0.004733, 0.691367, 0.3039]],
};
export const eyes = Object.keys(EYES);

const times = (matrix, vector) =>
  matrix.map((row) => row.reduce((sum, factor, i) => sum + factor * vector[i], 0));

function linear(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
}

function lab(rgb) {
  const xyz = times([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175],
                     [0.0193339, 0.119192, 0.9503041]], rgb);
  const [x, y, z] = [xyz[0] / 0.95047, xyz[1], xyz[2] / 1.08883]
    .map((t) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

// CIEDE2000: Sharma, Wu and Dalal, "The CIEDE2000 color-difference formula" (2005). 1 is just
// noticeable side by side.
function difference([l1, a1, b1], [l2, a2, b2]) {
  const radians = Math.PI / 180;
  const mean = (Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2;
  const g = 0.5 * (1 - Math.sqrt(mean ** 7 / (mean ** 7 + 25 ** 7)));
  const [p1, p2] = [(1 + g) * a1, (1 + g) * a2];
  const [c1, c2] = [Math.hypot(p1, b1), Math.hypot(p2, b2)];
  const hue = (a, b) => (Math.atan2(b, a) / radians + 360) % 360;
  const [h1, h2] = [hue(p1, b1), hue(p2, b2)];
  let turn = c1 * c2 === 0 ? 0 : h2 - h1;
  if (turn > 180) turn -= 360;
  if (turn < -180) turn += 360;
  const dh = 2 * Math.sqrt(c1 * c2) * Math.sin((turn / 2) * radians);
  const [l, c] = [(l1 + l2) / 2, (c1 + c2) / 2];
  const h = Math.abs(h1 - h2) <= 180 ? (h1 + h2) / 2 : (h1 + h2 + 360) / 2;
  const cos = (degrees) => Math.cos(degrees * radians);
  const t = 1 - 0.17 * cos(h - 30) + 0.24 * cos(2 * h) + 0.32 * cos(3 * h + 6) - 0.2 * cos(4 * h - 63);
  const sl = 1 + (0.015 * (l - 50) ** 2) / Math.sqrt(20 + (l - 50) ** 2);
  const [sc, sh] = [1 + 0.045 * c, 1 + 0.015 * c * t];
  const rt = -2 * Math.sqrt(c ** 7 / (c ** 7 + 25 ** 7)) *
    Math.sin(60 * Math.exp(-(((h - 275) / 25) ** 2)) * radians);
  const [x, y, z] = [(l2 - l1) / sl, (c2 - c1) / sc, dh / sh];
  return Math.sqrt(x * x + y * y + z * z + rt * y * z);
}

export function distance(one, other, eye) {
  const [a, b] = [one, other].map((hex) =>
    lab(times(EYES[eye], linear(hex)).map((c) => Math.min(1, Math.max(0, c)))));
  return difference(a, b);
}

// WCAG 2.1.
export function contrast(one, other) {
  const luminance = (hex) => times([[0.2126, 0.7152, 0.0722]], linear(hex))[0];
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}
