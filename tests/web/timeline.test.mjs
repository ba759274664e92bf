// Tests the timeline: lanes, arrows, causes of idle times, colours.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  skip, expected, problems, page, open, near, frames, arrows, middle, pointAt, pointInLane,
  words, instant, pass, pixel,
} from "./timeline_page.mjs";

test("transfers, collectives and steps equal the trace", { skip }, async () => {
  for (const [r, run] of expected.entries()) {
    const shown = await page.evaluate((index) => {
      const { transfers, collectives, steps } = window.pipewright.runs[index];
      return { transfers: transfers(), collectives: collectives(), steps: steps() };
    }, r);
    const key = (row) => [row.kind, row.stage, row.microbatch, row.source].join(" ");
    const found = new Map(shown.transfers.map((row) => [key(row), row]));
    assert.equal(shown.transfers.length, run.transfers.length);
    for (const wanted of run.transfers) {
      const row = found.get(key(wanted));
      assert.equal(row.device, wanted.destination);
      assert.equal(row.bytes, wanted.bytes);
      for (const time of ["posted", "start", "end"]) near(row[time], wanted[time], 1e-11);
    }
    const byDevice = (rows) => rows.toSorted((a, b) => a.device - b.device);
    for (const [name, times] of [["collectives", ["posted", "start", "end"]],
                                 ["steps", ["start", "reduced", "synchronized", "updated", "end"]]]) {
      assert.equal(shown[name].length, run[name].length);
      byDevice(run[name]).forEach((wanted, i) => {
        assert.equal(shown[name][i].device, wanted.device);
        for (const time of times) near(shown[name][i][time], wanted[time], 1e-11);
      });
    }
  }
});

test("idle times and the critical path equal the analysis", { skip }, async () => {
  for (const [r, run] of expected.entries()) {
    const shown = await page.evaluate((index) => {
      const { idle, critical } = window.pipewright.runs[index];
      return { idle: idle(), critical: critical() };
    }, r);
    assert.equal(shown.idle.length, run.idle.length);
    run.idle.forEach((wanted, i) => {
      for (const name of ["device", "cause", "stage", "microbatch"])
        assert.equal(shown.idle[i][name], wanted[name]);
      for (const time of ["start", "end"]) near(shown.idle[i][time], wanted[time], 1e-11);
    });
    assert.equal(shown.critical.length, run.critical.length);
    run.critical.forEach((wanted, i) => {
      for (const name of ["part", "device", "kind", "stage", "microbatch"])
        assert.equal(shown.critical[i][name], wanted[name]);
      near(shown.critical[i].end, wanted.end, 1e-11);
    });
  }
});

test("a run has lanes for its traffic, and the button and the key hide them", { skip }, async () => {
  const lanes = () => page.evaluate(() => [0, 1, 2, 3].map((run) => window.pipewright.lanes(run)));
  const all = ["out", "in", "collectives"];
  assert.deepEqual(await lanes(), [all, all, [], []]);
  const button = page.locator("#lanes");
  assert.equal(await button.getAttribute("aria-pressed"), "true");
  const height = () => page.locator(".timeline").first().evaluate((one) => one.clientHeight);
  const high = await height();
  await button.click();
  assert.deepEqual(await lanes(), [[], [], [], []]);
  assert.equal(await button.getAttribute("aria-pressed"), "false");
  assert.ok(await height() < high);
  await page.keyboard.press("l");
  assert.deepEqual(await lanes(), [all, all, [], []]);
});

test("lanes of many devices are hidden until they are requested", { skip }, async () => {
  const folded = await open("folded");
  const lanes = () => folded.evaluate(() => window.pipewright.lanes(0));
  assert.deepEqual(await lanes(), []);
  await folded.click("#lanes");
  assert.deepEqual(await lanes(), ["out", "in", "collectives"]);
  await folded.close();
  const bare = await open("many");
  assert.equal(await bare.locator("#lanes").isDisabled(), true);  // it has nothing for lanes
  assert.match(await bare.locator("#lanes").getAttribute("title"), /^no run has transfers/);
  await bare.close();
});

test("hovering a pass shows its transfers as arrows and in the tooltip", { skip }, async () => {
  const one = pass(0, "F", 1, 5);
  await pointAt(0, 1, middle(one));
  const drawn = await arrows(0);
  const wanted = expected[0].transfers.filter(({ kind, stage, microbatch }) =>
    kind === "activation" && microbatch === 5 && (stage === 0 || stage === 1));
  assert.equal(drawn.length, 2);
  for (const transfer of wanted) {
    const arrow = drawn.find(({ from }) => from === transfer.source);
    assert.equal(arrow.to, transfer.destination);
    near(arrow.posted, transfer.posted, 1e-11);
    near(arrow.end, transfer.end, 1e-11);
  }
  const told = await words();
  const input = wanted.find(({ stage }) => stage === 0);
  assert.equal(told.input, `24.0 MiB from device 0, sent ${instant(input.posted)}, ` +
                           `arrived ${instant(input.end)}, cable-0`);
  assert.ok(told.output.startsWith("24.0 MiB to device 2, sent"));
  assert.equal(told["collectives within"], "100 us");
  await page.mouse.move(2, 2);
  assert.deepEqual(await arrows(0), []);
});

test("passes of the first and last stage have fewer arrows", { skip }, async () => {
  await pointAt(0, 0, middle(pass(0, "F", 0, 0)));
  assert.deepEqual((await arrows(0)).map(({ from, to }) => [from, to]), [[0, 1]]);
  await pointAt(0, 3, middle(pass(0, "B", 3, 0)));
  assert.deepEqual((await arrows(0)).map(({ from, to }) => [from, to]), [[3, 2]]);
});

test("a click selects a pass with its arrows until Escape", { skip }, async () => {
  const one = pass(0, "B", 2, 1);
  const place = await pointAt(0, 2, middle(one));
  await page.mouse.click(place.x, place.y);
  await page.mouse.move(2, 2);
  assert.equal((await words("picked")).head, "backward of microbatch 1");
  assert.equal((await arrows(0)).length, 2);
  await page.keyboard.press("w");
  await frames();
  assert.equal((await arrows(0)).length, 2);
  await page.keyboard.press("Escape");
  assert.equal(await words("picked"), null);
  assert.deepEqual(await arrows(0), []);
});

test("the tooltip of a transfer shows its duration and its link", { skip }, async () => {
  const transfer = expected[0].transfers.find(({ kind, stage, microbatch }) =>
    kind === "activation" && stage === 2 && microbatch === 0);
  await page.evaluate(([from, to]) => window.pipewright.show(from, to),
                      [transfer.start - 1e-3, transfer.end + 1e-3]);
  await frames();
  await pointInLane(0, 3, "in", middle(transfer));
  const told = await words();
  assert.equal(told.head, "activation of stage 2, microbatch 0");
  assert.equal(told.from, "device 2, node-0-gpu-2");
  assert.equal(told.to, "device 3, node-0-gpu-3");
  assert.equal(told.sent, instant(transfer.posted));
  assert.equal(told.arrived, instant(transfer.end));
  assert.equal(told.bytes, "24.0 MiB");
  assert.equal(told.rendezvous, "100 us");
  assert.equal(told.duration, "100 us");
  assert.equal(told.rate, "234.4 GiB/s");
  assert.equal(told["duration alone"], "150 us");
  assert.equal(told["narrowest link"], "cable-2");
  assert.equal((await arrows(0)).length, 1);
});

test("collectives and the optimizer step are in their lane", { skip }, async () => {
  const [step] = expected[0].steps;
  await pointInLane(0, 0, "collectives", (step.start + step.reduced) / 2);
  assert.equal((await words()).head, "reduction of gradients");
  assert.equal((await words())["bytes per GPU"], "3.0 MiB");
  const last = expected[0].steps.find(({ device }) => device === 3);
  await pointInLane(0, 3, "collectives", (last.reduced + last.synchronized) / 2);
  assert.equal(await words(), null);  // other devices still reduce theirs
  const all = Math.max(...expected[0].steps.map(({ reduced }) => reduced));
  assert.ok(last.reduced < all && all < last.synchronized);
  await pointInLane(0, 3, "collectives", (all + last.synchronized) / 2);
  assert.equal((await words()).head, "norm of gradients");
  await pointInLane(0, 0, "collectives", (step.synchronized + step.updated) / 2);
  assert.equal((await words()).head, "optimizer step");
  assert.equal((await words()).duration, "500 us");
});

test("the tooltip of an idle time shows its cause", { skip }, async () => {
  // Device 1 has run its three warm-up forward passes and waits for the first gradient from stage
  // 2.
  const free = pass(0, "F", 1, 2).end;
  const made = pass(0, "B", 2, 0);
  const next = pass(0, "B", 1, 0);
  await pointAt(0, 1, (free + made.end) / 2);
  assert.deepEqual(await words(), {
    head: "waits for the input: stage 2, microbatch 0",
    on: "device 1, node-0-gpu-1",
    "computed on": `device 2 until ${instant(made.end)}`,
    from: instant(free),
    until: instant(made.end),
    for: `${((made.end - free) * 1e3).toPrecision(4)} ms`,
    next: "backward of microbatch 0",
  });
  await page.evaluate((at) => window.pipewright.show(at - 1e-3, at + 1e-3), made.end);
  await frames();
  await pointAt(0, 1, (made.end + next.start) / 2);
  assert.equal((await words()).head, "input on its way: stage 2, microbatch 0");
  assert.ok((await words()).input.startsWith("24.0 MiB from device 2"));

  await page.keyboard.press("f");
  const last = expected[0].steps.find(({ device }) => device === 3);
  await pointAt(0, 3, (last.start + last.reduced) / 2);
  assert.equal((await words()).head, "waits for the reduction of the gradients of stage 3");
  await pointAt(0, 3, (last.reduced + last.synchronized) / 2);
  assert.equal((await words()).head, "waits for the norm of all gradients");
});

test("a transfer that waits for its receiver is a rendezvous", { skip }, async () => {
  const made = pass(0, "F", 2, 0);
  const first = pass(0, "F", 3, 0);
  await page.evaluate((at) => window.pipewright.show(at - 1e-3, at + 1e-3), made.end);
  await frames();
  await pointAt(0, 3, made.end + (first.start - made.end) * 0.25);
  assert.equal((await words()).head, "rendezvous: stage 2, microbatch 0");
  await pointAt(0, 3, made.end + (first.start - made.end) * 0.75);
  assert.equal((await words()).head, "input on its way: stage 2, microbatch 0");
});

test("idle times have the colours of their causes, which the legend explains", { skip }, async () => {
  const colour = (name) => page.evaluate((variable) => {
    const hex = getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
    return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  }, `--idle-${name}`);
  const made = pass(0, "B", 2, 0);
  assert.deepEqual(await pixel(0, 1, made.end - 1e-3), await colour("compute"));
  const last = expected[0].steps.find(({ device }) => device === 3);
  assert.deepEqual(await pixel(0, 3, middle({ start: last.reduced, end: last.synchronized })),
                   await colour("collective"));
  const legend = await page.locator("#legend").textContent();
  for (const text of ["idle: waits for another device to compute", "idle: waits for a transfer",
                      "idle: waits for a collective", "waits for collectives within a pass",
                      "reduction of gradients", "optimizer step"])
    assert.ok(legend.includes(text), `${text}: ${legend}`);
});

test("colours by microbatch and by stage are ordered", { skip }, async () => {
  const light = ([red, green, blue]) => 0.3 * red + 0.6 * green + 0.1 * blue;
  await page.selectOption("#mode", "microbatch");
  const shades = [];
  for (const microbatch of [0, 4, 7])
    shades.push(light(await pixel(0, 0, middle(pass(0, "B", 0, microbatch)))));
  assert.ok(shades[0] < shades[1] && shades[1] < shades[2], `${shades}`);
  assert.deepEqual(await pixel(0, 0, middle(pass(0, "F", 0, 7))),
                   await pixel(0, 2, middle(pass(0, "B", 2, 7))));
  assert.ok((await page.locator("#legend").textContent()).includes("microbatch 0 to 11"));
  await page.selectOption("#mode", "stage");
  const stages = [];
  for (const stage of [0, 1, 2, 3])
    stages.push(light(await pixel(0, stage, middle(pass(0, "B", stage, 3)))));
  assert.deepEqual(stages, stages.toSorted((a, b) => a - b));
  assert.equal(new Set(stages).size, 4);
});

test("the critical path keeps its colours and other passes are grey", { skip }, async () => {
  const on = new Set(expected[0].critical.filter(({ kind }) => kind)
    .map(({ kind, stage, microbatch }) => `${kind} ${stage} ${microbatch}`));
  assert.ok(on.size > 8);
  const colours = new Map();
  for (const one of expected[0].passes)
    colours.set(one, await pixel(0, one.device, middle(one)));
  await page.keyboard.press("c");
  await page.keyboard.press("c");
  await page.keyboard.press("c");
  assert.equal(await page.inputValue("#mode"), "critical");
  for (const [one, before] of colours) {
    const now = await pixel(0, one.device, middle(one));
    if (on.has(`${one.kind} ${one.stage} ${one.microbatch}`)) assert.deepEqual(now, before);
    else assert.ok(Math.max(...now) - Math.min(...now) < 40, `${now} of ${JSON.stringify(one)}`);
  }
});

test("pixels with many passes have the mean of their colours", { skip }, async () => {
  const many = await open("many", { viewport: { width: 1000, height: 900 } });
  const colours = async (seconds) => many.evaluate((time) => {
    const { x, y } = window.pipewright.place(0, 3, time);
    const canvas = document.querySelector(".timeline canvas");
    const { left, top } = canvas.getBoundingClientRect();
    // A pixel covers several passes, so colours are averaged over 60 pixels.
    const { data } = canvas.getContext("2d").getImageData(x - left, y - top, 60, 1);
    return [0, 1, 2].map((k) => data.filter((_, i) => i % 4 === k).reduce((a, b) => a + b) / 60);
  }, seconds);
  // In the steady phase, a third of the time is forward passes and two thirds are backward passes.
  const [red, green, blue] = await colours(1.2);
  const mixed = (forward, backward) => (forward + 2 * backward) / 3;
  near(red, mixed(0x56, 0xe6), 6);
  near(green, mixed(0xb4, 0x9f), 6);
  near(blue, mixed(0xe9, 0), 6);
  await many.close();
});

test("hostile names are shown as text in tooltips and in the selection", { skip }, async () => {
  const one = pass(1, "F", 1, 5);
  const place = await pointAt(1, 1, middle(one));
  const attack = "</script><img src=x onerror=\"window.attacked = 1\">";
  assert.ok((await words()).on.includes(attack));
  assert.ok((await words()).input.includes(attack));
  await page.mouse.click(place.x, place.y);
  assert.ok((await words("picked")).on.includes(attack));
  const labels = await page.evaluate(() =>
    [...document.querySelectorAll(".timeline canvas[role=img]")].map((one) => one.ariaLabel));
  assert.ok(labels[1].includes(attack));
  assert.equal(await page.locator("img").count(), 0);
  assert.equal(await page.evaluate(() => window.attacked), undefined);
});

test("the page was drawn without errors and without the network", { skip }, () => {
  assert.deepEqual(problems, []);
});
