// Tests the page in Chromium with mouse and keys. PIPEWRIGHT_PAGE names the page; the .json file
// beside it holds the expected content.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { near, openFile, problems, readExpected, skip, tooltipOn } from "./browser.mjs";

const file = process.env.PIPEWRIGHT_PAGE;
const expected = readExpected(file.replace(/html$/, "json"));
let page;

before(async () => {
  if (!skip) page = await openFile(file);
});

const tooltip = () => tooltipOn(page);
const range = () => page.evaluate(() => window.pipewright.range());
const frame = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => done())));

async function pointAt(run, device, seconds) {
  const place = await page.evaluate((at) => window.pipewright.place(...at), [run, device, seconds]);
  await page.mouse.move(place.x, place.y);
  return place;
}

test("the page has every pass of the trace with its times", { skip }, async () => {
  const shown = await page.evaluate(() =>
    window.pipewright.runs.map((run) => ({ name: run.name, passes: run.passes })));
  assert.deepEqual(shown, expected.map(({ name, passes }) => ({ name, passes })));

  for (const [r, run] of expected.entries()) {
    const next = run.hosts.map(() => 0);
    const places = run.rows.map(({ device }) => [device, next[device]++]);
    const rows = await page.evaluate(([index, at]) =>
      at.map(([device, i]) => window.pipewright.runs[index].pass(device, i)), [r, places]);
    rows.forEach((row, i) => {
      const wanted = run.rows[i];
      for (const name of ["kind", "stage", "microbatch"]) assert.equal(row[name], wanted[name]);
      for (const name of ["ready", "start", "end", "released"]) near(row[name], wanted[name], 1e-11);
    });
  }
});

test("the tooltip describes the pass under the pointer", { skip }, async () => {
  // The first backward pass of device 1 starts at 8.10 ms. Before it, the device runs three forward
  // passes, which end at 4.02 ms.
  await pointAt(0, 1, 0.009);
  assert.deepEqual(await tooltip(), {
    head: "backward of microbatch 0",
    on: "device 1, node-0-gpu-1",
    stage: "1",
    start: "8.1000 ms",
    end: "10.1000 ms",
    duration: "2.000 ms",
    "input ready": "8.1000 ms",
    "idle before": "4.080 ms",
    "critical path": "yes",
  });
});

test("the tooltip of an idle time shows its duration and the next pass", { skip }, async () => {
  await pointAt(0, 1, 0.006);
  const words = await tooltip();
  assert.equal(words.head, "waits for the input: stage 2, microbatch 0");
  assert.equal(words.for, "4.060 ms");  // and for 0.02 ms it is on its way
  assert.equal(words.next, "backward of microbatch 0");
});

test("the tooltip distinguishes a blocked send from idle time", { skip }, async () => {
  await pointAt(1, 0, 0.0012);
  const words = await tooltip();
  assert.equal(words.head, "blocked by its send: stage 0, microbatch 0");
  assert.equal(words["sends the result of"], "forward of microbatch 0");
  assert.equal(words.for, "400 us");
});

test("the tooltip distinguishes the passes of a fused pair", { skip }, async () => {
  // On device 0, the forward pass of microbatch 2 and the backward pass of microbatch 0 are a fused
  // pair from 2 to 4.4 ms.
  const place = await pointAt(2, 0, 0.003);
  const upper = await tooltip();
  assert.equal(upper.head, "forward of microbatch 2");
  assert.equal(upper["fused with"], "backward of microbatch 0");
  assert.equal(upper["idle before"], "0 s");
  await page.mouse.move(place.x, place.y + 8);
  const lower = await tooltip();
  assert.equal(lower.head, "backward of microbatch 0");
  assert.equal(lower["fused with"], "forward of microbatch 2");
  assert.equal(lower["idle before"], "0 s");
  await pointAt(2, 0, 0.0015);
  assert.equal((await tooltip())["fused with"], undefined);
});

test("the passes of a fused pair have the colours of their kinds", { skip }, async () => {
  const at = await page.evaluate(() => {
    const { x, y } = window.pipewright.place(2, 0, 0.0023);
    const canvas = document.querySelectorAll("section")[2].querySelector("canvas");
    const { left, top } = canvas.getBoundingClientRect();
    const { data } = canvas.getContext("2d").getImageData(x - left, y - 4 - top, 1, 14);
    return { upper: [...data.slice(0, 4)], lower: [...data.slice(-4)] };
  });
  const [red, , blue] = [0, 1, 2];
  assert.ok(at.upper[blue] > at.upper[red], `${at.upper}`);  // forwards are blue,
  assert.ok(at.lower[red] > at.lower[blue], `${at.lower}`);  // backwards orange
});

test("the legend has every kind of pass", { skip }, async () => {
  const words = await page.locator("#legend").textContent();
  for (const kind of ["forward (F)", "backward (B)", "recompute (R)"])
    assert.ok(words.includes(kind), words);
});

test("the wheel zooms at the cursor", { skip }, async () => {
  const before = await range();
  await pointAt(0, 1, 0.009);
  await page.mouse.wheel(0, -400);
  await frame();
  const closer = await range();
  assert.ok(closer.to - closer.from < 0.6 * (before.to - before.from));
  const share = ({ from, to }) => (0.009 - from) / (to - from);
  near(share(closer), share(before), 0.01);
});

test("keys and dragging pan, and f restores the whole axis", { skip }, async () => {
  const start = await range();
  await page.keyboard.press("ArrowRight");
  const right = await range();
  assert.ok(right.from > start.from);
  near(right.to - right.from, start.to - start.from, 1e-9);

  const place = await pointAt(0, 1, (right.from + right.to) / 2);
  await page.mouse.down();
  await page.mouse.move(place.x + 100, place.y);
  await page.mouse.up();
  assert.ok((await range()).from < right.from);

  await page.keyboard.press("f");
  const whole = await range();
  assert.equal(whole.from, 0);
  const ends = expected.flatMap((run) => run.rows.map((row) => row.end));
  near(whole.to, Math.max(...ends));
});

test("dragging with shift zooms to the range", { skip }, async () => {
  const from = await pointAt(0, 0, 0.01);
  await page.keyboard.down("Shift");
  await page.mouse.down();
  const to = await page.evaluate(() => window.pipewright.place(0, 0, 0.02));
  await page.mouse.move(to.x, from.y, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
  const zoomed = await range();
  near(zoomed.from, 0.01, 1e-4);
  near(zoomed.to, 0.02, 1e-4);
  const axis = await page.locator("#axis").boundingBox();
  await page.mouse.dblclick(axis.x + 600, from.y);
  assert.equal((await range()).from, 0);
});

test("memory equals the trace", { skip }, async () => {
  for (const [r, run] of expected.entries()) {
    // Values are compared in the middle between two changes; at the time of a change they would
    // depend on the order of rows.
    const rows = run.hosts.map((_, d) => run.memory.filter(({ device }) => device === d));
    for (const [device, changes] of rows.entries())
      for (let i = 0; i + 1 < changes.length; ++i) {
        const [row, next] = [changes[i], changes[i + 1]];
        if (next.time - row.time < 1e-9) continue;
        const middle = (row.time + next.time) / 2;
        const bytes = await page.evaluate(([run, d, t]) =>
          window.pipewright.runs[run].memoryAt(d, t), [r, device, middle]);
        assert.equal(bytes, row.bytes);
      }
  }
});

test("the tooltip of memory shows the device and its bytes", { skip }, async () => {
  const chart = page.locator(".memory").first();
  const box = await chart.boundingBox();
  const { x } = await page.evaluate(() => window.pipewright.place(0, 0, 0.006));
  await page.mouse.move(x, box.y + 10);  // the topmost line
  const words = await tooltip();
  assert.equal(words.head, "device 0, node-0-gpu-0");
  assert.equal(words.holds, "18.0 GiB");
  assert.equal(words.peak, "18.0 GiB");
  assert.equal(words.capacity, "80.0 GiB");
});

test("timeline and memory share the time axis", { skip }, async () => {
  const lefts = await page.evaluate(() =>
    [...document.querySelectorAll(".u-over")].map((plot) => {
      const { left, width } = plot.getBoundingClientRect();
      return [left, left + width];
    }));
  const from = await page.evaluate(() => window.pipewright.place(0, 0, 0));
  const { to } = await range();
  const end = await page.evaluate((time) => window.pipewright.place(0, 0, time), to);
  for (const [left, right] of lefts) {
    near(left, from.x, 1);
    near(right, end.x, 1);
  }
});

test("hostile names are shown as text", { skip }, async () => {
  const headings = await page.locator("h2").allTextContents();
  assert.ok(headings[1].startsWith(expected[1].name));
  assert.ok((await page.locator("pre").last().textContent()).startsWith("<b>bold</b><script>"));
  await pointAt(1, 2, 0.0025);
  assert.equal((await tooltip()).on, "device 2, <i>x</i>");
  assert.equal(await page.locator("main img, main i:not(:empty), main b, header img").count(), 0);
  assert.equal(await page.evaluate(() => window.attacked), undefined);
});

test("the page was drawn without errors and without the network", { skip }, () => {
  assert.deepEqual(problems, []);
});
