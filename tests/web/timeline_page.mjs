// Opens the pages of write_timeline.cpp, in the folder PIPEWRIGHT_TIMELINE, with helpers for tests.

import { before, beforeEach, test } from "node:test";

import { openFile, readExpected, skip } from "./browser.mjs";

export { near, problems, skip } from "./browser.mjs";

const folder = process.env.PIPEWRIGHT_TIMELINE;
export const expected = readExpected(`${folder}/expected.json`);
export let page;

export const open = (name, options = {}) =>
  openFile(`${folder}/${name}.html`, { viewport: { width: 1400, height: 2400 }, ...options });

before(async () => {
  if (skip) return;
  page = await open("lanes");
});

// Before each test, the page shows the whole run, coloured by kind of pass, with nothing selected.
beforeEach(async () => {
  if (skip) return;
  await page.mouse.move(2, 2);
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("Escape");
  await page.keyboard.press("f");
  await page.selectOption("#mode", "kind");
  await page.evaluate(() => { document.activeElement.blur(); scrollTo(0, 0); });
  await frames();
});

export const frames = (on = page) => on.evaluate(() => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(done))));
export const range = () => page.evaluate(() => window.pipewright.range());
export const arrows = (run) => page.evaluate((index) => window.pipewright.arrows(index), run);
export const middle = ({ start, end }) => (start + end) / 2;

export async function pointAt(run, device, seconds) {
  const place = await page.evaluate((at) => window.pipewright.place(...at), [run, device, seconds]);
  await page.mouse.move(place.x, place.y);
  return place;
}

export async function pointInLane(run, device, name, seconds) {
  const place = await page.evaluate((at) => window.pipewright.placeInLane(...at),
                                    [run, device, name, seconds]);
  await page.mouse.move(place.x, place.y);
}

// Returns the content of the tooltip or of the selection panel: its heading and a value for each
// named line.
export async function words(id = "tooltip") {
  return page.evaluate((name) => {
    const element = document.getElementById(name);
    if (element.hidden) return null;
    const texts = (tag) => [...element.querySelectorAll(tag)].map((one) => one.textContent);
    const values = texts("dd");
    const lines = Object.fromEntries(texts("dt").map((line, i) => [line, values[i]]));
    return { head: element.querySelector("b").textContent, ...lines };
  }, id);
}

// Formats a time given in milliseconds with as many digits as the page uses in a run of tens of
// milliseconds.
export const instant = (seconds) => `${(seconds * 1e3).toFixed(4)} ms`;
export const pass = (run, kind, stage, microbatch) => expected[run].passes.find((one) =>
  one.kind === kind && one.stage === stage && one.microbatch === microbatch);
export const pixel = (run, device, seconds) => page.evaluate(([at, index]) => {
  const { x, y } = window.pipewright.place(...at);
  const canvas = document.querySelectorAll(".timeline")[index].querySelector("canvas");
  const { left, top } = canvas.getBoundingClientRect();
  const copy = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, left - x, top + 8 - y);
  return [...copy.getImageData(0, 0, 1, 1).data].slice(0, 3);
}, [[run, device, seconds], run]);
