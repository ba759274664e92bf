// Opens the pages of write_panels.cpp, in the folder PIPEWRIGHT_PANELS, with helpers for tests.

import { before } from "node:test";

import { openFile, readExpected, skip, tooltipOn } from "./browser.mjs";

export { near, problems, skip } from "./browser.mjs";

const folder = process.env.PIPEWRIGHT_PANELS;
export const expected = readExpected(`${folder}/expected.json`);
export let page;   // of one run,
export let three;  // of three,
export let bad;    // and with hostile names

export const open = (name, options = {}) =>
  openFile(`${folder}/${name}.html`, options);

before(async () => {
  if (skip) return;
  [page, three, bad] = [await open("one"), await open("several"), await open("hostile")];
});

export const plain = (text) => text.replaceAll("\u00a0", " ");
export const tooltip = (on = page) => tooltipOn(on);
export const frames = (on) => on.evaluate(() => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 20)))));

// Returns the rows of the table with this title, each as an object with a value per column heading.
export async function cellsOf(on, title) {
  const rows = await on.evaluate((words) => {
    const part = [...document.querySelectorAll("#parts details")]
      .find((one) => one.querySelector("summary").textContent === words);
    part.open = true;
    const heads = [...part.querySelectorAll("thead th")].map((cell) => cell.textContent);
    return [...part.querySelectorAll("tbody tr")].map((row) =>
      Object.fromEntries([...row.cells].map((cell, i) => [heads[i], cell.textContent])));
  }, title);
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(([k, v]) => [k, plain(v)])));
}

// Returns the colours of a canvas at these points, as "#rrggbb".
export async function pixels(on, selector, points) {
  return on.evaluate(([of, places]) => {
    const canvas = document.querySelector(of);
    const scale = canvas.width / canvas.getBoundingClientRect().width;
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return places.map(([x, y]) => {
      const at = 4 * (Math.round(y * scale) * canvas.width + Math.round(x * scale));
      const hex = [...data.slice(at, at + 3)].map((one) => one.toString(16).padStart(2, "0"));
      return `#${hex.join("")}`;
    });
  }, [selector, points]);
}
