// Colours of the current theme, from the style sheet.

export function rgb(hex) {
  const value = parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

export const PAPER_WIDTH = 960;  // printable width of landscape A4 and Letter, in CSS pixels

// Follows the system's theme until the button is used. Calls redraw(printing) at every change.
export function listenToTheme(button, redraw) {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = false;
  const setDark = (dark) => {
    root.classList.toggle("dark", dark);
    redraw(false);
  };
  button.onclick = () => {
    chosen = true;
    setDark(!root.classList.contains("dark"));
  };
  system.addEventListener("change", () => !chosen && setDark(system.matches));
  const paper = matchMedia("print");
  paper.addEventListener("change", () => redraw(paper.matches));
  addEventListener("beforeprint", () => redraw(true));
  addEventListener("afterprint", () => redraw(false));
}

export function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = ["ground", "ink", "faint", "line", "idle", "blocked", "blocked-line", "accent",
                 "idle-compute", "idle-network", "idle-collective", "idle-finished", "dimmed"];
  const theme = Object.fromEntries(names.map((name) => [name.replace("-", "_"), colour(name)]));
  const dark = rgb(theme.ground)[0] < 128;
  return { ...theme, dark, ramp: dark ? DARK_RAMP : LIGHT_RAMP };
}

// Colours of the viridis scale that stand out from the background, from the first to the last
// device.
const LIGHT_RAMP = ["#440154", "#3b528b", "#21918c", "#4fae56"];
const DARK_RAMP = ["#7a8fe0", "#35a7b0", "#5ec962", "#fde725"];

// Interpolates within a list of colours. `share` is the position from 0 to 1; returns [red, green,
// blue].
export function sequenceColour(stops, share) {
  const place = share * (stops.length - 1);
  const i = Math.min(Math.floor(place), stops.length - 2);
  const [a, b] = [rgb(stops[i]), rgb(stops[i + 1])];
  return a.map((channel, k) => Math.round(channel + (b[k] - channel) * (place - i)));
}

export const rampColour = (ramp, share) => `rgb(${sequenceColour(ramp, share)})`;

export const FONT = 'system-ui, "DejaVu Sans", sans-serif';

// Sets the size of a canvas in CSS pixels, and returns its device pixels per CSS pixel.
export function sizeCanvas(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  return scale;
}
