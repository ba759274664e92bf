// Tests the appearance of unusual searches (several models, no result, a single point, hostile
// names) in narrow windows, with a dark theme and in print. PIPEWRIGHT_SEARCH names the folder of
// their pages.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openFile, problems, readExpected, skip, tooltipOn } from "./browser.mjs";

const folder = process.env.PIPEWRIGHT_SEARCH;
const open = (name, options) => openFile(`${folder}/${name}.html`, options);
const expected = (name) => readExpected(`${folder}/${name}.json`);

const text = (selector, on) => on.locator(selector).textContent();
const frames = (on) => on.evaluate(() => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(() => done()))));

test("each model and cluster has its own view", { skip }, async () => {
  const groups = await open("groups");
  const seen = expected("groups");
  const state = () => groups.evaluate(() => {
    const { page: shown } = window.pipewright;
    return { best: shown.best, front: shown.front };
  });
  assert.deepEqual(await state(), { best: seen.best, front: seen.fronts[1] });
  assert.ok((await text("#winner", groups)).includes("price of 2 T tokens at $2.50 a GPU-hour"));
  assert.equal(await text("#proof", groups), "stopped: nothing can be more than 1.8 % better");
  await groups.locator("#group").selectOption("0");
  const other = await state();
  assert.deepEqual(other.front, seen.fronts[0]);
  assert.notEqual(other.best, seen.best);
  await groups.close();
});

test("a search without a result shows the candidate nearest to fitting", { skip }, async () => {
  const none = await open("none");
  assert.match(await text("#winner", none), /Nothing was found. The nearest to fitting, .*7.4 GiB of 3.0 GiB/);
  assert.equal(await none.locator("#tradeoff").isVisible(), false);
  await none.close();
  const empty = await open("empty");
  assert.match(await text("#winner", empty), /Nothing was found/);
  await empty.close();
});

test("a single point is drawn", { skip }, async () => {
  const one = await open("one");
  const { best } = expected("one");
  const { x, y } = await one.evaluate((row) => window.pipewright.place(row), best);
  assert.ok(Number.isFinite(x) && Number.isFinite(y));
  await one.mouse.move(x, y);
  assert.ok((await tooltipOn(one)).throughput);
  assert.equal(await one.locator("#side-by-side").isVisible(), false);
  await one.close();
});

test("hostile names are shown as text", { skip }, async () => {
  const hostile = await open("hostile");
  await hostile.locator("#scatter").focus();
  await hostile.keyboard.press("ArrowDown");
  await hostile.evaluate(() => {
    for (const details of document.querySelectorAll("details")) details.open = true;
    const { page: shown, place } = window.pipewright;
    const { x, y } = place(shown.best);
    document.getElementById("scatter").dispatchEvent(
      new PointerEvent("pointermove", { clientX: x, clientY: y }));
  });
  await frames(hostile);
  const harm = await hostile.evaluate(() => ({
    attacked: window.attacked, images: document.querySelectorAll("img, i[onclick], b[onclick]").length,
    unseen: /[\u0000-\u0008\u001b]/.test(document.body.innerText),
  }));
  assert.deepEqual(harm, { attacked: undefined, images: 0, unseen: false });
  assert.ok((await text("h1", hostile)).startsWith("</script><img src=x"));
  await hostile.close();
});

test("narrow windows, dark themes and print show the whole page", { skip }, async () => {
  for (const width of [700, 1000, 1400]) {
    const sized = await open("search", { viewport: { width, height: 900 }, colorScheme: "dark" });
    const over = await sized.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(over <= 0, `${over} px too wide at ${width}`);
    await sized.emulateMedia({ media: "print", colorScheme: "dark" });
    await frames(sized);
    const paper = await sized.evaluate(() => ({
      ground: getComputedStyle(document.documentElement).getPropertyValue("--ground").trim(),
      widest: Math.max(...[...document.querySelectorAll("canvas")]
        .map((one) => one.getBoundingClientRect().right)),
    }));
    assert.equal(paper.ground, "#ffffff");
    assert.ok(paper.widest <= 990, String(paper.widest));
    await sized.close();
  }
});

test("the pages cause no errors and no requests", { skip }, () => {
  assert.deepEqual(problems, []);
});
