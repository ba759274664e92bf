// Tests the appearance of the page: themes, print, colours, window widths, and hostile names.

import assert from "node:assert/strict";
import { test } from "node:test";

import { contrast, distance, eyes } from "./colours.mjs";
import { bad, frames, open, page, problems, skip } from "./panels_page.mjs";

test("the theme button switches between light and dark, including charts", { skip }, async () => {
  const look = () => page.evaluate(() => ({
    ground: getComputedStyle(document.body).backgroundColor,
    dark: document.documentElement.classList.contains("dark"),
  }));
  const light = await look();
  assert.deepEqual(light, { ground: "rgb(255, 255, 255)", dark: false });
  await page.locator("#theme").click();
  const dark = await look();
  assert.ok(dark.dark && dark.ground !== light.ground);
  await page.locator("#theme").click();
  assert.deepEqual(await look(), light);
});

test("a dark system theme gives a dark page and a white print", { skip }, async () => {
  const dark = await open("one", { colorScheme: "dark" });
  const ground = () => dark.evaluate(() => getComputedStyle(document.documentElement)
    .getPropertyValue("--ground").trim());
  assert.equal(await ground(), "#14171b");
  await dark.emulateMedia({ media: "print", colorScheme: "dark" });
  await frames(dark);
  assert.equal(await ground(), "#ffffff");
  assert.equal(await dark.locator(".controls").isVisible(), false);
  // No canvas is wider than a printed page.
  const widest = await dark.evaluate(() =>
    Math.max(...[...document.querySelectorAll("canvas")]
      .map((one) => one.getBoundingClientRect().right)));
  assert.ok(widest <= 960, String(widest));
  await dark.emulateMedia({ media: "screen", colorScheme: "dark" });
  await frames(dark);
  assert.equal(await ground(), "#14171b");
  await dark.close();
});

test("text has sufficient contrast in both themes", { skip }, async () => {
  for (const scheme of ["light", "dark"]) {
    const opened = await open("one", { colorScheme: scheme });
    const colours = await opened.evaluate(() => {
      const style = getComputedStyle(document.documentElement);
      return Object.fromEntries(["ground", "raised", "ink", "faint", "accent", "good"]
        .map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    });
    for (const ground of ["ground", "raised"])
      for (const ink of ["ink", "faint", "accent", "good"])
        assert.ok(contrast(colours[ink], colours[ground]) >= 4.5,
                  `${scheme}: ${ink} on ${ground} ${contrast(colours[ink], colours[ground])}`);
    await opened.close();
  }
});

test("colours of components and traffic are distinct with any colour vision", { skip }, async () => {
  const { categories, traffic } = await page.evaluate(() =>
    JSON.parse(document.getElementById("data").textContent));
  for (const list of [categories, traffic])
    for (const eye of eyes)
      list.forEach(({ fill }, i) => list.slice(0, i).forEach((other) => {
        const apart = distance(fill, other.fill, eye);
        assert.ok(apart >= 15, `${fill} and ${other.fill} are ${apart} apart for ${eye} eyes`);
      }));
});

test("lanes, links and bars share a colour for the same traffic, distinct within a bar", { skip },
     async () => {
  const { kinds, traffic, fills } = await page.evaluate(() => {
    const data = JSON.parse(document.getElementById("data").textContent);
    return { kinds: data.runs[0].colours.map(([shade]) => shade.fill),
             traffic: data.traffic.map(({ fill }) => fill), fills: data.time_fills };
  });
  assert.deepEqual(traffic.slice(2), [fills.gradients_s, fills.weights_s, fills.embeddings_s,
                                      fills.in_passes_s]);
  const all = [...kinds, ...Object.values(fills)];
  all.forEach((fill, i) => all.slice(0, i).forEach((other) => {
    const apart = distance(fill, other, "normal");
    assert.ok(apart >= 13, `${fill} and ${other} are ${apart} apart`);
  }));
  const lanes = await page.evaluate(() => window.pipewright.laneColours());
  assert.equal(lanes.activation, traffic[0]);
  assert.equal(lanes.gradient, traffic[1]);
  assert.equal(lanes.reduce_gradients, traffic[2]);
  assert.equal(lanes.norm, fills.norm_s);
  assert.equal(lanes.optimizer, fills.optimizer_s);
});

test("narrow and wide pages do not overflow", { skip }, async () => {
  for (const [name, width] of [["one", 700], ["several", 700], ["hostile", 700], ["one", 2200]]) {
    const opened = await open(name, { viewport: { width, height: 900 } });
    await opened.evaluate(() => {
      for (const one of document.querySelectorAll("details")) one.open = true;
    });
    await frames(opened);
    const wide = await opened.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `${name} is ${wide} wide at ${width}`);
    const over = await opened.evaluate(() => {
      const boxes = [...document.querySelectorAll(".card")].map((one) => one.getBoundingClientRect());
      return boxes.some((a, i) => boxes.slice(0, i).some((b) =>
        a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom));
    });
    assert.equal(over, false);
    await opened.close();
  }
});

test("hostile names are shown as text and shortened if long", { skip }, async () => {
  assert.equal(await bad.evaluate(() => window.attacked), undefined);
  assert.equal(await bad.locator("img").count(), 0);
  assert.ok((await bad.locator("h1").textContent()).length <= 200);
  const hosts = await bad.evaluate(() => [...document.querySelectorAll("#parts td .name")]
    .map((one) => ({ text: one.textContent, width: one.getBoundingClientRect().width,
                     title: one.title.length })));
  assert.ok(hosts.length >= 4);
  for (const { text, width, title } of hosts) {
    assert.ok(width <= 260 && text.length <= 200 && title > 0);
    assert.ok(!/[\u0000-\u001f\u202a-\u202e]/.test(text), JSON.stringify(text));
  }
  assert.ok((await bad.locator("pre").textContent()).startsWith("</script><img"));
  const height = await bad.locator("header").evaluate((one) => one.getBoundingClientRect().height);
  assert.ok(height < 500, String(height));
});

test("the pages were drawn without errors and without the network", { skip }, () => {
  assert.deepEqual(problems, []);
});
