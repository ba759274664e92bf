// Opens pages in Chromium for tests, and records their errors.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { after } from "node:test";
import { pathToFileURL } from "node:url";

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
export const problems = [];  // console errors, exceptions, requests
let browser;

// Opens an HTML file and waits until its page is ready; `options` are passed to the browser.
export async function openFile(file, options = {}) {
  const opened = await newPage(options, /^(file|data):/);
  await opened.goto(pathToFileURL(file).href);
  await opened.waitForFunction(() => window.pipewright);
  return opened;
}

// Opens a page of a local server and waits until it is ready.
export async function openAddress(address, options = {}) {
  const { origin } = new URL(address);
  const opened = await newPage(options, new RegExp(`^(${origin}/|blob:${origin}|data:)`));
  await opened.goto(address);
  await opened.waitForFunction(() => window.pipewright);
  return opened;
}

async function newPage(options, ours) {
  browser ??= await driver.chromium.launch({ executablePath, args: flags });
  const opened = await browser.newPage({ viewport: { width: 1400, height: 1900 }, ...options });
  opened.on("console", (message) => problems.push(message.text()));
  opened.on("pageerror", (error) => problems.push(error.message));
  opened.on("request", (request) => {
    if (!ours.test(request.url())) problems.push(request.url());
  });
  return opened;
}

// Reads the expected content of a page from the JSON file beside it.
export const readExpected = (file) => (skip ? [] : JSON.parse(readFileSync(file, "utf8")));

export const near = (actual, wanted, tolerance = 1e-10) =>
  assert.ok(Math.abs(actual - wanted) <= tolerance, `${actual} is not ${wanted}`);

// Returns the tooltip of a page: its heading and a value for each named line, or null if it is
// hidden.
export async function tooltipOn(page) {
  return page.evaluate(() => {
    const element = document.getElementById("tooltip");
    if (element.hidden) return null;
    const texts = (tag) => [...element.querySelectorAll(tag)].map((one) => one.textContent);
    const values = texts("dd");
    const lines = Object.fromEntries(texts("dt").map((name, i) => [name, values[i]]));
    return { head: element.querySelector("b").textContent, ...lines };
  });
}

after(() => browser?.close());
