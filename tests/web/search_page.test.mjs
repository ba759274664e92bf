// Tests the page of a search in Chromium with mouse and keys. PIPEWRIGHT_SEARCH names the folder of
// the pages; .json files there hold the expected content.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { openFile, problems, readExpected, skip, tooltipOn } from "./browser.mjs";

const folder = process.env.PIPEWRIGHT_SEARCH;
const open = (name, options) => openFile(`${folder}/${name}.html`, options);
const expected = (name) => readExpected(`${folder}/${name}.json`);
const wanted = skip ? {} : expected("search");
let page;

before(async () => {
  if (!skip) page = await open("search");
});

const text = (selector, on = page) => on.locator(selector).textContent();
const chosen = () => page.evaluate(() => window.pipewright.page.chosen);
const cardOf = async (row) => {
  await page.waitForFunction((one) => window.pipewright.page.chosen === one, row);
  await page.waitForFunction(() => document.querySelector("#command"));
  return text("#candidate");
};

// Finds a simulated candidate whose point in the scatter plot no other point hides, apart from the
// best.
const lonely = () => page.evaluate(() => {
  const { page: shown, place } = window.pipewright;
  const { left, top } = document.getElementById("scatter").getBoundingClientRect();
  return shown.ranked.find((row) => {
    const { x, y } = place(row);
    return row !== shown.best && shown.scatter.nearest(x - left, y - top) === row;
  });
});

test("the page has every candidate with its outcome", { skip }, async () => {
  const outcomes = await page.evaluate(() => {
    const counts = [0, 0, 0, 0, 0, 0];
    for (const outcome of window.pipewright.rows.outcome) ++counts[outcome];
    return counts;
  });
  assert.deepEqual(outcomes, wanted.outcomes);
  const words = (await text("#outcomes")).replaceAll(",", "").replaceAll("\u00a0", " ");
  for (const [outcome, name] of [[4, "simulated"], [3, "bounded away"], [2, "does not fit"], [1, "illegal"]])
    assert.ok(words.includes(`${name} ${wanted.outcomes[outcome]} `), words);
});

test("the winner and the ranking equal the report", { skip }, async () => {
  const ranked = await page.evaluate(() => window.pipewright.page.ranked);
  assert.deepEqual(ranked, wanted.ranked);
  assert.equal(await chosen(), wanted.best);
  const words = await text("#winner");
  for (const word of ["162\u00a0k tokens/s", "53.3\u00a0%", "63.2\u00a0GiB", "v-zb"])
    assert.ok(words.includes(word), `${word} in ${words}`);
  assert.equal(await text("#proof"), "proven: nothing in the sweep is better");
});

test("the comparison with the runner-up equals the report", { skip }, async () => {
  const words = (await text("#runner-up")).replaceAll("\u00a0", " ");
  assert.ok(words.includes(`${(100 * wanted.behind).toFixed(1)} % behind`), words);
  const bars = await page.evaluate(() =>
    [...document.querySelectorAll(".differences-bars")].map((one) =>
      [...one.children].map((cell) => cell.textContent).filter(Boolean)));
  const pairs = [];
  for (let i = 0; i < bars[0].length; i += 2)
    pairs.push(`${bars[0][i + 1].split(",")[0]} ${bars[0][i]}`.replaceAll("\u00a0", " "));
  assert.equal(pairs.join(", "), wanted.lost);
});

test("the tooltip describes the candidate under the pointer", { skip }, async () => {
  const row = await lonely();
  const { x, y } = await page.evaluate((one) => window.pipewright.place(one), row);
  await page.mouse.move(x, y);
  const words = await tooltipOn(page);
  const { head, peak } = await page.evaluate((one) => ({
    head: window.pipewright.search.axes.filter(({ values }) => values.length > 1).length,
    peak: window.pipewright.rows.peak[one],
  }), row);
  assert.equal(words.head.split(", ").length, head);
  assert.equal(words.memory, `${(peak / 2 ** 30).toFixed(1)} GiB of 80.0 GiB`);
  await page.mouse.move(1, 1);
  assert.equal(await tooltipOn(page), null);
});

test("a click selects a candidate, whose command writes its scenario", { skip }, async () => {
  const row = await lonely();
  const { x, y } = await page.evaluate((one) => window.pipewright.place(one), row);
  await page.mouse.click(x, y);
  const words = await cardOf(row);
  assert.ok(words.includes("this candidate"), words);
  assert.ok(/[+-][\d.]+ %/.test(words.replaceAll("\u00a0", " ")), words);
  const command = await text("#command");
  const number = await page.evaluate((one) => window.pipewright.rows.candidate[one], row);
  assert.ok(command.startsWith(`cat > candidate-${number}.yaml <<'END_OF_SCENARIO'\nmodel: gpt-175b\n`));
  assert.ok(command.endsWith(`END_OF_SCENARIO\npipewright run candidate-${number}.yaml\n`), command);
});

test("the command and the scenario can be copied", { skip }, async () => {
  await page.locator("#scatter").focus();
  await page.keyboard.press("Escape");
  await cardOf(wanted.best);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  await page.getByText("copy the command").click();
  await page.getByText("copied").waitFor();
  assert.equal(await clipboard(), await text("#command"));
  await page.getByText("copy the scenario").click();
  await page.waitForFunction(async () => !(await navigator.clipboard.readText()).startsWith("cat"));
  assert.equal(await clipboard(), wanted.scenario);
});

test("copying works without the clipboard API", { skip }, async () => {
  const other = await open("one");
  await other.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await other.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error("not allowed"));
  });
  await other.getByText("copy the scenario").click();
  await other.getByText("copied").waitFor();
  assert.equal(await other.evaluate(() => navigator.clipboard.readText()), expected("one").scenario);
  await other.close();
});

test("arrow keys move along the ranking and along memory", { skip }, async () => {
  await page.locator("#scatter").focus();
  await page.keyboard.press("Home");
  assert.equal(await chosen(), wanted.ranked[0]);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  assert.equal(await chosen(), wanted.ranked[2]);
  await page.keyboard.press("ArrowUp");
  assert.equal(await chosen(), wanted.ranked[1]);
  const peak = () => page.evaluate(() => window.pipewright.rows.peak[window.pipewright.page.chosen]);
  const before = await peak();
  await page.keyboard.press("ArrowLeft");
  assert.ok((await peak()) <= before && (await chosen()) !== wanted.ranked[1]);
  await page.keyboard.press("Escape");
  assert.equal(await chosen(), wanted.best);
});

test("the front is listed from the fastest candidate", { skip }, async () => {
  const front = await page.evaluate(() => window.pipewright.page.front);
  assert.deepEqual(front, wanted.fronts[0]);
  const lines = page.locator("#lists table").first().locator("tbody tr");
  assert.equal(await lines.count(), front.length);
  await lines.last().locator("button").click();
  assert.equal(await chosen(), front[0]);
});

test("a click on a heading sorts the table", { skip }, async () => {
  const table = page.locator("#lists table").last();
  const memory = async () => (await table.locator("tbody tr td:last-child").allTextContents())
    .map((words) => Number(words.split("\u00a0")[0]));
  await table.getByText("memory").click();
  const down = await memory();
  assert.deepEqual(down, [...down].sort((a, b) => b - a));
});

// Counts the pixels of the scatter plot that have a colour, neither that of the background nor
// grey.
const coloured = () => page.evaluate(() => {
  const canvas = document.querySelector("#scatter canvas");
  const copy = new OffscreenCanvas(canvas.width, canvas.height)
    .getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4)
    count += Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 60;
  return count;
});

test("candidates that were bounded away can be hidden", { skip }, async () => {
  const all = await coloured();
  const legend = await text("#scatter-legend");
  assert.ok(legend.includes("at its bound"), legend);
  await page.locator("#bounded").uncheck();
  assert.ok(!(await text("#scatter-legend")).includes("at its bound"));
  assert.ok((await coloured()) < all);
  await page.locator("#bounded").check();
  assert.equal(await coloured(), all);
});

test("the colour axis and the measure can be changed", { skip }, async () => {
  await page.locator("#colour").selectOption({ label: "recompute" });
  const legend = await text("#scatter-legend");
  assert.ok(legend.startsWith("none") && legend.includes("full") && !legend.includes("1f1b"), legend);
  const height = () => page.evaluate((row) => window.pipewright.place(row).y, wanted.best);
  const top = await height();
  await page.locator("#measure").selectOption({ label: "iteration" });
  assert.equal(await text("#tradeoff-name"), "Iteration against memory");
  assert.ok(Math.abs((await height()) - top) < 20);  // the best is at the top again
  await page.locator("#measure").selectOption({ label: "throughput" });
  await page.locator("#colour").selectOption({ label: "schedule" });
});

test("dragging along an axis filters lines, and a click clears the filter", { skip }, async () => {
  const at = await page.evaluate(() => {
    const { parallel } = window.pipewright.page;
    parallel.canvas.scrollIntoView({ block: "center" });
    const { left, top } = parallel.canvas.getBoundingClientRect();
    const place = parallel.axes.findIndex(({ name }) => name === "recompute");
    return { x: left + parallel.axes[place].x, top: top + parallel.box.top, bottom: top + parallel.box.bottom };
  });
  const full = () => page.evaluate(() => {
    const { page: shown, rows, search } = window.pipewright;
    const axis = search.axes.findIndex(({ name }) => name === "recompute");
    const kept = shown.ranked.filter((row) => shown.matches(row));
    return { kept: kept.length, all: shown.ranked.length,
             values: [...new Set(kept.map((row) => search.axes[axis].values[rows.axes[axis][row]]))] };
  });
  await page.mouse.move(at.x, at.top);
  await page.mouse.down();
  await page.mouse.move(at.x, (at.top + at.bottom) / 2, { steps: 4 });
  await page.mouse.up();
  const brushed = await full();
  assert.deepEqual(brushed.values, ["full"]);
  assert.ok(brushed.kept > 0 && brushed.kept < brushed.all);
  assert.ok((await text("#parallel-words")).includes("candidates match"));
  await page.locator("#clear-brushes").click();
  assert.equal((await full()).kept, brushed.all);
});

test("the heat map shows the best candidate of each pair and distinguishes empty pairs", { skip }, async () => {
  const cell = () => page.locator("#heat-map tbody tr", { has: page.locator("th", { hasText: /^v-zb$/ }) })
    .locator("button", { hasText: /^162\u00a0?.?k$/ });
  assert.equal(await cell().count(), 1);
  for (const kind of ["none-fits", "none-legal", "bounded-only"])
    assert.ok((await page.locator(`#heat-map td.${kind}`).count()) > 0, kind);
  await page.locator("#heat-across").selectOption({ label: "schedule" });  // they change places
  assert.equal(await page.locator("#heat-down").inputValue(),
               await page.evaluate(() => String(window.pipewright.page.down)));
  assert.equal(await page.locator("#heat-map thead th").count(), 9);
  await page.locator("#heat-down").selectOption({ label: "tp" });
  const best = await page.evaluate(() => {
    const { rows, page: shown } = window.pipewright;
    const { across, down } = shown;
    const first = shown.ranked.find((row) => rows.axes[across][row] === 0 && rows.axes[down][row] === 2);
    return { row: first, title: document.querySelector("#heat-map tbody tr:nth-child(3) td button").title };
  });
  await page.locator("#heat-map tbody tr").nth(2).locator("td").first().locator("button").click();
  assert.equal(await chosen(), best.row);
  assert.ok(best.title.includes("tp 4, schedule 1f1b"), best.title);
});

test("a candidate shows its expected error", { skip }, async () => {
  const guessed = await open("assumed");
  const line = "expected error \u221210 .. +20 % (90 % of 12 measured runs: b200, bf16, dense)";
  assert.equal(await guessed.locator("#winner .expected-error").textContent(), line);
  assert.ok((await guessed.locator("#candidate").textContent()).includes(line));
  await guessed.locator("#scatter").press("ArrowDown");  // the next in rank
  await guessed.waitForFunction(() =>
    window.pipewright.page.chosen !== window.pipewright.page.best);
  assert.ok(!(await guessed.locator("#candidate").textContent()).includes("expected error"));
  assert.equal(await page.locator(".expected-error").count(), 0);
});

test("a search for tokens per day shows them and the effective time", { skip }, async () => {
  const weeks = await open("weeks");
  await weeks.waitForFunction(() => document.querySelector("#command"));
  // 162,000 tokens/s for 86,400 s, of which a quarter is lost to failures.
  const words = (await text("#winner", weeks)).replaceAll("\u00a0", " ");
  assert.ok(words.includes("10.5 B tokens a day"), words);
  const card = (await text("#candidate", weeks)).replaceAll("\u00a0", " ");
  assert.ok(/effective time\s*75.0 %/.test(card), card);
  const up = await weeks.evaluate(() => window.pipewright.page.allMeasures[0].name);
  assert.equal(up, "a day");
  await weeks.close();
});

test("answers about the winner are headings, sentences, lists and tables", { skip }, async () => {
  const answers = await open("answers");
  const texts = (selector) => answers.locator(`#sureness ${selector}`).allTextContents();
  assert.deepEqual(await texts("h3"), ["How sure is the winner?"]);
  assert.deepEqual(await texts("p"), ["2 candidates under the same 32 draws (seed 1).", "No tie."]);
  assert.deepEqual(await texts("ul li"), ["jitter of 2.0 %, network at 80 to 120 % (latencies, nic)",
                                          "2.2 % behind: +2.4 % bubble, -0.2 % compute"]);
  assert.deepEqual(await texts("ol li"), ["tp 2, pp 2", "tp 4, pp 1"]);
  assert.deepEqual(await texts("th"),
                   ["", "planned behind %", "conditions wins %", "conditions behind the best %"]);
  assert.deepEqual(await texts("tbody tr:last-child td"), ["2", "2.2", "0", "+1.5..+3.0"]);
  assert.equal(await answers.locator("#sureness pre").count(), 0);
  assert.deepEqual(await answers.locator("#decision h3").allTextContents(), ["Decision", "Launch"]);
  assert.deepEqual(await answers.locator("#decision li").allTextContents(), ["tp 2, pp 2, on 8 GPUs"]);
  await answers.locator("#decision summary").click();
  assert.match(await answers.locator("#decision pre").innerText(), /^#!\/bin\/bash\ntorchrun pretrain_gpt.py/);
  await answers.close();
});

test("the page causes no errors and no requests", { skip }, () => {
  assert.deepEqual(problems, []);
});
