// Tests that the panels around the timeline agree with the trace: figures, memory by component,
// links and tables.

import assert from "node:assert/strict";
import { test } from "node:test";

import { distance } from "./colours.mjs";
import {
  cellsOf, expected, frames, near, open, page, pixels, plain, problems, skip, three, tooltip,
} from "./panels_page.mjs";

test("the cards show the figures of the summary", { skip }, async () => {
  const cards = await page.evaluate(() => Object.fromEntries(
    [...document.querySelectorAll(".card")].map((card) =>
      [card.querySelector("a").textContent, card.querySelector("b").textContent])));
  const shown = Object.fromEntries(Object.entries(cards).map(([k, v]) => [k, plain(v)]));
  assert.deepEqual(shown, expected[0].cards);
});

test("the expected error of runs is shown once", { skip }, async () => {
  const line = "expected error \u221210 .. +20 % (90 % of 12 measured runs: b200, bf16, dense)";
  for (const name of ["guessed", "assumed"]) {
    const shown = await open(name);
    assert.deepEqual(await shown.locator("#figures .expected-error").allTextContents(), [line]);
  }
  assert.equal(await page.locator(".expected-error").count(), 0);
});

test("a run that does not fit has warnings at its card, chart and device", { skip }, async () => {
  const words = "does not fit";
  assert.ok((await page.locator(".card.over").textContent()).includes(`${words} on 1 of 4 devices`));
  assert.ok((await page.locator(".memory-panel .caption").first().textContent()).includes(words));
  const warned = await page.locator("#parts td .warning").allTextContents();
  assert.equal(warned.length, 1);
});

test("each figure links to its definition", { skip }, async () => {
  const links = await page.evaluate(() => [...document.querySelectorAll("a.metric")].map((link) => ({
    title: link.title, found: document.querySelector(link.getAttribute("href"))?.tagName,
  })));
  assert.ok(links.length >= 6);
  for (const { title, found } of links) {
    assert.equal(found, "DT");
    assert.ok(title.length > 20, title);
  }
  await page.locator(".card a").first().click();
  assert.ok(await page.locator("#glossary").evaluate((one) => one.open));
  await page.evaluate(() => scrollTo(0, 0));
});

test("memory by component equals the trace at all times", { skip }, async () => {
  for (const [r, run] of expected.entries()) {
    assert.ok(run.memory.length > 40);
    const shown = await three.evaluate(([index, samples]) =>
      samples.map(({ device, time }) => window.pipewright.runs[index].heldAt(device, time)),
    [r, run.memory]);
    shown.forEach((held, i) => assert.deepEqual(held, run.memory[i].held));
  }
});

test("the layers of the memory stack have the legend's colours and correct heights", { skip }, async () => {
  const { fills, most } = await page.evaluate(() => ({
    fills: JSON.parse(document.getElementById("data").textContent).categories.map((one) => one.fill),
    most: window.pipewright.memoryTop(),
  }));
  const box = await page.locator(".stack .u-over").boundingBox();
  const canvas = await page.locator(".stack canvas").boundingBox();
  const peak = await page.evaluate((at) => window.pipewright.place(0, 0, at), expected[0].peak_time);
  const capacity = box.y + box.height * (1 - (44 * 2 ** 30) / most);
  // Pixels are not compared where the mark and label of the peak, or the line of the capacity,
  // cover the curve.
  const covered = (x, y) => Math.abs(y - capacity) < 3 ||
    (x > peak.x - 6 && x < peak.x + 110 && y < box.y + 60);
  const points = [];
  const wanted = [];
  for (const { time, device, held } of expected[0].memory) {
    if (device !== 0) continue;
    const { x } = await page.evaluate((at) => window.pipewright.place(0, 0, at), time);
    let below = 0;
    for (const [k, bytes] of held.entries()) {
      const height = (bytes / most) * box.height;
      const middle = box.y + box.height * (1 - below / most) - height / 2;
      below += bytes;
      if (height < 4 || covered(x, middle)) continue;
      points.push([x - canvas.x, middle - canvas.y]);
      wanted.push(fills[k]);
    }
  }
  assert.ok(points.length > 40, String(points.length));
  const painted = await pixels(page, ".stack canvas", points);
  painted.forEach((colour, i) =>
    assert.ok(distance(colour, wanted[i], "normal") < 2, `${colour} is not ${wanted[i]}`));
});

test("the caption shows the memory peak and its components", { skip }, async () => {
  const line = plain(await page.locator(".memory-panel").textContent());
  assert.ok(line.includes(`peak ${expected[0].cards["memory peak"]} at `), line);
  const shares = ["weights 12.0 GiB", "gradients 5.0 GiB", "optimizer state 20.0 GiB",
                  "activations 6.0 GiB", "working 2.0 GiB", "buffers 1.5 GiB",
                  "allowance 1.0 GiB"];
  for (const share of shares) assert.ok(line.includes(share), `${share}: ${line}`);
  const sum = expected[0].at_peak.reduce((a, b) => a + b);
  assert.equal(sum, expected[0].devices[0].peak_bytes);
});

test("the tooltip of memory shows every component", { skip }, async () => {
  const sample = expected[0].memory.find(({ device, held }) => device === 0 && held[5] > 0);
  const box = await page.locator(".stack").boundingBox();
  const { x } = await page.evaluate((at) => window.pipewright.place(0, 0, at), sample.time);
  await page.mouse.move(x, box.y + 60);
  const words = await tooltip();
  assert.equal(words.head, "device 0, node-0-gpu-0");
  assert.equal(words["optimizer state"], "20.0 GiB");
  assert.equal(words["working"], "2.0 GiB");
  assert.equal(words.capacity, "44.0 GiB");
  assert.equal(words.logits, undefined);
});

test("the list, a row and a line select a device", { skip }, async () => {
  const chosen = () => page.locator(".memory-panel select").inputValue();
  const peak = async () => plain(await page.locator(".memory-panel .caption").first().textContent());
  assert.equal(await chosen(), "0");  // the fullest
  await page.locator(".memory-panel select").selectOption("2");
  assert.ok((await peak()).includes(`peak ${expected[0].devices[2]["memory peak"]}`));

  const place = await page.evaluate(() => window.pipewright.place(0, 3, 0.01));
  await page.mouse.click(place.x, place.y);
  assert.equal(await chosen(), "3");
  assert.ok((await peak()).includes(`peak ${expected[0].devices[3]["memory peak"]}`));
  await page.keyboard.press("Escape");

  const lines = await page.locator(".lines .u-over").boundingBox();
  await page.mouse.click(place.x, lines.y + 2);  // the topmost line
  const held = await page.evaluate(() =>
    [0, 1, 2, 3].map((device) => window.pipewright.runs[0].memoryAt(device, 0.01)));
  assert.equal(await chosen(), String(held.indexOf(Math.max(...held))));
  await page.locator(".memory-panel select").selectOption("0");
});

test("memory and links follow the zoom of the timeline", { skip }, async () => {
  const lefts = () => page.evaluate(() => [...document.querySelectorAll(".u-over")].map((plot) => {
    const { left, width } = plot.getBoundingClientRect();
    return [left, left + width];
  }));
  const { x } = await page.evaluate(() => window.pipewright.place(0, 0, 0));
  for (const [left] of await lefts()) near(left, x, 1);
  const hold = (await page.locator(".stack").boundingBox());
  const before = await page.evaluate(() => window.pipewright.range());
  await page.mouse.move(x + 300, hold.y + 50);
  await page.mouse.wheel(0, -300);
  await frames(page);
  const closer = await page.evaluate(() => window.pipewright.range());
  assert.ok(closer.to - closer.from < 0.7 * (before.to - before.from));
  await page.keyboard.press("f");
  await frames(page);
});

test("the use of links equals the trace", { skip }, async () => {
  const { use } = expected[0];
  assert.ok(use.length > 100);
  const shown = await page.evaluate((rows) => rows.map(({ link, time, traffic }) =>
    window.pipewright.runs[0].useAt(link, time).find((one) => one.traffic === traffic)), use);
  shown.forEach((row, i) => {
    assert.equal(row.bytes, use[i].bytes);
    near(row.flows, use[i].flows);
    near(row.waited, use[i].waited);
  });
});

test("strips show the busiest links, and tooltips show shares and waits", { skip }, async () => {
  const box = await page.locator(".links canvas").boundingBox();
  // In the third of 64 time intervals, activations use 20 % and gradients 25 % of the first link,
  // and flows wait.
  const time = (2.5 / 64) * expected[0].makespan;
  const { x } = await page.evaluate((at) => window.pipewright.place(0, 0, at), time);
  await page.mouse.move(x, box.y + 15);
  const words = await tooltip();
  assert.equal(words.head, "node-0-nvlink-0_UP");
  assert.equal(words.bandwidth, "450 GB/s");
  assert.ok(words.activations.endsWith("20.0 %"), words.activations);
  assert.ok(words["gradients of activations"].endsWith("25.0 %"));
  assert.equal(words["bandwidth in use"], "45.0 %");
  assert.equal(words["flows at once"], "2.50");
  assert.ok(words["waited for others"], JSON.stringify(words));
  // Two of the three links have use by time interval and are drawn; the third has only a row in the
  // table.
  const summary = await page.locator(".links summary").textContent();
  assert.ok(summary.includes("2 links"), summary);
});

test("the table of links shows totals", { skip }, async () => {
  const rows = await cellsOf(page, "links: what each carried");
  rows.forEach((row, i) => {
    const wanted = expected[0].links[i];
    assert.equal(row.link, wanted.name);
    for (const name of ["mean use", "peak use", "waited"]) assert.equal(row[name], wanted[name]);
  });
  assert.equal(rows.length, 3);
});

test("a run without links has no link panel", { skip }, async () => {
  assert.equal(await three.locator(".links").count(), 1);
});

test("the table of devices equals the summary and sorts by any column", { skip }, async () => {
  const rows = await cellsOf(page, "devices");
  rows.forEach((row, i) => {
    for (const name of ["host", "busy", "idle", "memory peak"])
      assert.equal(row[name], expected[0].devices[i][name]);
    assert.ok(row["of capacity"].includes(expected[0].devices[i]["of capacity"]));
  });
  const head = page.locator("#parts thead th", { hasText: "memory peak" }).locator("button");
  const order = async () => (await cellsOf(page, "devices")).map((row) => Number(row.device));
  const by = expected[0].devices.map(({ peak_bytes: bytes }, i) => [bytes, i]);
  await head.click();
  assert.deepEqual(await order(), [...by].sort((a, b) => b[0] - a[0]).map(([, i]) => i));
  await head.click();
  assert.deepEqual(await order(), [...by].sort((a, b) => a[0] - b[0]).map(([, i]) => i));
});

test("a note says if links lack collectives within passes", { skip }, async () => {
  const words = "Collectives within passes are not included";
  assert.equal(await page.locator(".links .note").count(), 0);
  const waiting = await open("waits");
  assert.ok((await waiting.locator(".links .note").textContent()).startsWith(words));
  await waiting.close();
  const counted = await open("counted");
  assert.equal(await counted.locator(".links").count(), 1);
  assert.equal(await counted.locator(".links .note").count(), 0);
  await counted.close();
});

test("a run without arrival times has neither critical path nor slack", { skip }, async () => {
  const heads = (on) => on.locator("#parts h3").allTextContents();
  assert.deepEqual(await heads(page),
                   ["critical path", "where each device's time goes", "slack"]);
  const measured = await open("measured");
  assert.deepEqual(await heads(measured), ["where each device's time goes"]);
  await measured.close();
});

test("the table of collectives in passes has a row per kind", { skip }, async () => {
  const waits = await open("waits");
  assert.ok((await waits.locator("#parts h3").allTextContents()).includes("collectives in passes"));
  const row = await waits.locator("#parts tr", { hasText: "ep dispatch" }).allTextContents();
  assert.deepEqual(row.map(plain), ["ep dispatch83.0 MiB1.000 ms to 2.000 ms500 us"]);
  await waits.close();
});

test("a shortened slack table has the costliest stages and all transfers", { skip }, async () => {
  const { slack } = await three.evaluate(() =>
    JSON.parse(document.getElementById("data").textContent).runs[2].why);
  const costs = slack.stages.map((one) => one.cost_of_10_percent_s ?? 0);
  assert.ok(costs.length > 16);
  const most = [...costs].sort((a, b) => b - a).slice(0, 16);
  const shown = async () => three.evaluate(() => {
    const part = [...document.querySelectorAll("#parts > section")][2];
    const table = [...part.querySelectorAll("table")]
      .find((one) => one.textContent.includes("passes of stage"));
    return [...table.tBodies[0].rows].map((row) => row.cells[0].textContent);
  });
  const rows = await shown();
  const stages = rows.filter((what) => what.startsWith("passes of stage "))
    .map((what) => costs[Number(what.slice("passes of stage ".length))]);
  assert.deepEqual(stages, most);
  assert.equal(rows.length - stages.length, slack.links.length);
  await three.emulateMedia({ media: "print" });
  await frames(three);
  assert.equal((await shown()).length, costs.length + slack.links.length);
  await three.emulateMedia({ media: "screen" });
  await frames(three);
  assert.deepEqual(await shown(), rows);
});

test("a long table shows its first rows, and all rows on demand", { skip }, async () => {
  const part = three.locator("#parts > section").nth(2).locator("details", { hasText: "host" });
  assert.equal(await part.locator("tbody tr").count(), 16);
  await part.locator("button", { hasText: "show all 40" }).click();
  assert.equal(await part.locator("tbody tr").count(), 40);
});

test("several runs are shown with their differences to the first", { skip }, async () => {
  const rows = await three.evaluate(() => {
    const table = document.querySelector(".differences");
    const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
    const figures = [...table.tBodies[0].rows].filter((row) => row.className !== "below");
    return figures.map((row) => Object.fromEntries([...row.cells].map((cell, i) =>
      [heads[i], { text: cell.textContent, best: !!cell.querySelector(".best") }])));
  });
  assert.equal(rows.length, 3);
  const text = (row, name) => plain(rows[row][name].text);
  expected.forEach((run, i) =>
    assert.ok(text(i, "time").startsWith(run.cards.time), text(i, "time")));
  const more = (expected[2].makespan - expected[0].makespan) / expected[0].makespan;
  assert.ok(text(2, "time").includes(`(+${(100 * more).toFixed(1)} %)`), text(2, "time"));
  const least = Math.min(...expected.map((run) => run.makespan));
  rows.forEach((row, i) => assert.equal(row.time.best, expected[i].makespan === least));
  assert.ok(text(1, "bubble ratio").includes("points"));
});

test("parts of the critical path and of devices fill their bars", { skip }, async () => {
  const bars = await page.evaluate(() => [...document.querySelectorAll(".bar")].map((bar) =>
    [...bar.children].reduce((sum, part) => sum + parseFloat(part.style.width), 0)));
  assert.equal(bars.length, 5);  // the critical path and four devices
  for (const width of bars) near(width, 100, 1e-3);
  const data = await page.evaluate(() =>
    JSON.parse(document.getElementById("data").textContent).runs[0].why);
  near(data.makespan_s, expected[0].makespan);
  assert.equal(plain(await page.locator(".verdict").textContent()), data.verdict);
});

test("the pages were drawn without errors and without the network", { skip }, () => {
  assert.deepEqual(problems, []);
});

test("concurrent jobs share an axis and are not compared", { skip }, async () => {
  const both = await open("at_once");
  assert.equal(plain(await both.locator("h1").textContent()).split(": ").at(-1), "early, late");
  assert.equal(await both.locator(".differences .best, .differences small.bad").count(), 0);
  const starts = await both.evaluate(() => window.pipewright.runs.map((run) => run.pass(0, 0).start));
  assert.ok(Math.abs(starts[1] - starts[0] - 1e-3) < 1e-9);
  // What the second job carries over the first job's links, at a later time, is drawn from the top
  // of the strip.
  assert.ok((await both.locator(".links").first().textContent()).includes("from above: other jobs"));
  const use = await both.evaluate(() => {
    const { runs } = window.pipewright;
    const busy = runs[0].useAt(0, 1e-4);
    return { own: busy.length, late: runs[1].useAt(0, 1e-4).length,
             later: runs[1].useAt(0, 1.1e-3).length };
  });
  assert.ok(use.own > 0 && use.late === 0 && use.later === use.own, JSON.stringify(use));
  await both.close();
});
