// The pages that write_panels.cpp wrote into the folder that PIPEWRIGHT_PANELS names, in Chromium,
// with what tests ask of them.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { after, before } from "node:test";
import { pathToFileURL } from "node:url";

const folder = process.env.PIPEWRIGHT_PANELS;
const executablePath = process.env.PIPEWRIGHT_CHROMIUM ?? "/usr/bin/chromium";
const driver = await import("playwright-core").catch(() => null);

function reasonToSkip() {
  if (!driver) return "skipped: playwright-core is not installed";
  if (!existsSync(executablePath)) return `skipped: there is no ${executablePath}`;
  return false;
}
export const skip = reasonToSkip();
if (skip) console.log(skip);

const flags = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];
export const expected = skip ? [] : JSON.parse(readFileSync(`${folder}/expected.json`, "utf8"));
export const problems = [];  // console errors, exceptions, requests
let browser;
export let page;   // of one run,
export let three;  // of three,
export let bad;    // and with hostile names

export async function open(name, options = {}) {
  const opened = await browser.newPage({ viewport: { width: 1400, height: 1900 }, ...options });
  opened.on("console", (message) => problems.push(message.text()));
  opened.on("pageerror", (error) => problems.push(error.message));
  opened.on("request", (request) => {
    if (!/^(file|data):/.test(request.url())) problems.push(request.url());
  });
  await opened.goto(pathToFileURL(`${folder}/${name}.html`).href);
  await opened.waitForFunction(() => window.pipewright);
  return opened;
}

before(async () => {
  if (skip) return;
  browser = await driver.chromium.launch({ executablePath, args: flags });
  [page, three, bad] = [await open("one"), await open("several"), await open("hostile")];
});

after(() => browser?.close());

export const plain = (text) => text.replaceAll("\u00a0", " ");
export const near = (actual, wanted, tolerance = 1e-10) =>
  assert.ok(Math.abs(actual - wanted) <= tolerance, `${actual} is not ${wanted}`);
export const frames = (on) => on.evaluate(() => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 20)))));

export async function tooltip(on = page) {
  return on.evaluate(() => {
    const element = document.getElementById("tooltip");
    if (element.hidden) return null;
    const texts = (tag) => [...element.querySelectorAll(tag)].map((one) => one.textContent);
    const values = texts("dd");
    const lines = Object.fromEntries(texts("dt").map((name, i) => [name, values[i]]));
    return { head: element.querySelector("b").textContent, ...lines };
  });
}

// The cells of a table below the panels, a row an object by heads.
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

// The colours of points of a canvas, "#rrggbb".
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
