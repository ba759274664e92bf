// Tests how users navigate in the timeline: by search, minimap and keys.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  skip, expected, problems, page, open, near, frames, range, words, pass,
} from "./timeline_page.mjs";

test("search counts matches, steps through them, and reports invalid queries", { skip }, async () => {
  const result = () => page.locator("#search output").textContent();
  await page.keyboard.press("/");
  await page.keyboard.type("B5 d2");
  const runs = expected.map((run) => run.passes.filter((one) =>
    one.kind === "B" && one.microbatch === 5 && one.device === 2).length);
  const count = runs.reduce((sum, one) => sum + one);
  assert.equal(count, 2);  // of both runs with whole backwards
  assert.equal(await result(), "2 matches");
  await page.keyboard.press("Enter");
  assert.equal(await result(), "1 of 2");
  assert.equal((await words("picked")).head, "backward of microbatch 5");
  await page.keyboard.press("Enter");
  assert.equal(await result(), "2 of 2");
  await page.keyboard.press("Enter");
  assert.equal(await result(), "1 of 2");

  const say = async (text) => {
    await page.fill("#search input", text);
    return result();
  };
  const matching = (test) => expected.flatMap((run) => run.passes).filter(test).length;
  assert.equal(await say("stage 1 mb 3"),
               `${matching(({ stage, microbatch }) => stage === 1 && microbatch === 3)} matches`);
  assert.equal(await say("forward"), `${matching(({ kind }) => kind === "F")} matches`);
  assert.equal(await say("F 99"), "no matches");
  assert.ok((await say("stage")).startsWith('"stage" needs a number; try: F 12'));
  assert.ok((await say("banana")).startsWith('"banana" is neither a kind of pass nor a property'));
  assert.ok((await say("F B 3")).startsWith('two kinds: "F" and "b"'));
  assert.ok((await say("mb 1 mb 2")).startsWith("two values of microbatch: 1 and 2"));
  assert.equal(await page.getAttribute("#search input", "aria-invalid"), "true");
  for (const hostile of ["constructor 1", "__proto__", "<img src=x>", "toString"])
    assert.ok((await say(hostile)).includes("is neither a kind of pass nor a property"), hostile);
  assert.equal(await say(""), "");
});

test("a step to a tiny match zooms in", { skip }, async () => {
  const many = await open("many");
  await many.keyboard.press("/");
  await many.keyboard.type("F 700 d 40");
  await many.keyboard.press("Enter");
  await frames(many);
  const shown = await many.evaluate(() => window.pipewright.range());
  const found = await many.evaluate(() => {
    const { runs: [run] } = window.pipewright;
    for (let i = 0; ; ++i) {
      const one = run.pass(40, i);
      if (one.kind === "F" && one.microbatch === 700) return one;
    }
  });
  assert.ok(shown.from < found.start && found.end < shown.to);
  assert.ok((found.end - found.start) / (shown.to - shown.from) > 0.008);
  await many.close();
});

test("the minimap's window shows, moves and resizes the visible range", { skip }, async () => {
  const box = () => page.locator("#minimap .window").boundingBox();
  const whole = await box();
  await page.evaluate(() => window.pipewright.show(0.01, 0.02));
  await frames();
  const { to: total } = await range().then(async () => {
    await page.keyboard.press("f");
    return range();
  });
  await page.evaluate(() => window.pipewright.show(0.01, 0.02));
  await frames();
  const part = await box();
  near(part.width / whole.width, 0.01 / total, 0.01);
  near((part.x - whole.x) / whole.width, 0.01 / total, 0.01);

  const y = part.y + 20;
  const drag = async (from, to) => {
    await page.mouse.move(from, y);
    await page.mouse.down();
    await page.mouse.move((from + to) / 2, y);
    await page.mouse.move(to, y);
    await page.mouse.up();
    await frames();
  };
  await drag(part.x + part.width / 2, part.x + part.width / 2 + 0.005 / total * whole.width);
  const moved = await range();
  near(moved.from, 0.015, 1e-4);
  near(moved.to, 0.025, 1e-4);
  const now = await box();
  await drag(now.x + now.width, now.x + now.width + 0.005 / total * whole.width);
  const wider = await range();
  near(wider.from, 0.015, 1e-4);
  near(wider.to, 0.03, 2e-4);
  const text = await page.getAttribute("#minimap .window", "aria-valuetext");
  assert.match(text, /^(15\.0|14\.9)\d+ ms to (30\.0|29\.9)\d+ ms$/);
  await page.mouse.click(whole.x + 30, y);  // beside it
  await frames();
  assert.ok((await range()).from < 0.005);
});

test("w, s, a and d zoom and pan", { skip }, async () => {
  const start = await range();
  await page.keyboard.press("w");
  const closer = await range();
  assert.ok(closer.to - closer.from < start.to - start.from);
  await page.keyboard.press("d");
  assert.ok((await range()).from > closer.from);
  await page.keyboard.press("a");
  near((await range()).from, closer.from, 1e-9);
  await page.keyboard.press("s");
  near((await range()).to - (await range()).from, start.to - start.from, 1e-9);
});

test("keys move along a device, between devices, and along transfers", { skip }, async () => {
  const head = async () => {
    const told = await words("picked");
    return `${told.head} on ${told.on.split(",")[0]}`;
  };
  await page.keyboard.press("/");
  await page.keyboard.type("F 2 d 1");
  await page.keyboard.press("Enter");
  await page.evaluate(() => document.activeElement.blur());
  assert.equal(await head(), "forward of microbatch 2 on device 1");
  await page.keyboard.press("]");
  assert.equal(await head(), "forward of microbatch 2 on device 2");
  await page.keyboard.press("[");
  await page.keyboard.press("[");
  assert.equal(await head(), "forward of microbatch 2 on device 0");
  await page.keyboard.press(".");
  assert.equal(await head(), "forward of microbatch 3 on device 0");
  await page.keyboard.press(",");
  assert.equal(await head(), "forward of microbatch 2 on device 0");
  await page.locator(".timeline canvas").first().focus();
  await page.keyboard.press("ArrowDown");
  assert.ok((await head()).endsWith("on device 1"));
  await page.keyboard.press("ArrowUp");
  assert.ok((await head()).endsWith("on device 0"));
  await page.keyboard.press("m");
  const { from, to } = await range();
  near(to - from, 7e-3, 1e-6);  // seven times the pass
});

test("typing in an input triggers no key action, and help lists the keys", { skip }, async () => {
  const before = await range();
  await page.keyboard.press("/");
  await page.keyboard.type("wwdd?");
  assert.deepEqual(await range(), before);
  assert.equal(await page.inputValue("#search input"), "wwdd?");
  await page.keyboard.press("Escape");
  assert.equal(await page.inputValue("#search input"), "");
  await page.keyboard.press("?");
  assert.equal(await page.locator("#keys").isVisible(), true);
  const text = await page.locator("#keys").textContent();
  for (const said of ["zoom in", "pan left", "find a pass", "next colour mode"])
    assert.ok(text.includes(said));
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#keys").isVisible(), false);
});

test("every control has a name and can be reached with the keyboard", { skip }, async () => {
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll(".controls :is(button, input, select)")].filter((control) =>
      !(control.getAttribute("aria-label") ?? control.title ?? control.textContent).trim() ||
      control.tabIndex < 0).length);
  assert.equal(nameless, 0);
  await page.keyboard.press("Tab");
  const seen = new Set();
  const stops = 60; // controls and the links of the index of runs
  for (let i = 0; i < stops; ++i) {
    seen.add(await page.evaluate(() =>
      document.activeElement.id || document.activeElement.className));
    await page.keyboard.press("Tab");
  }
  for (const name of ["fit", "mode", "lanes", "help", "window"])
    assert.ok(seen.has(name), [...seen].join());
});

test("the page was drawn without errors and without the network", { skip }, () => {
  assert.deepEqual(problems, []);
});
