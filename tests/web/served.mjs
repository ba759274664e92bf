// Starts the program's server and opens its page, for tests.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

import { openAddress } from "./browser.mjs";

const program = process.env.PIPEWRIGHT_PROGRAM;
const running = [];

// Starts a server in a new folder and returns {address, folder, process}.
export async function startServer(words = [], prepare = () => {}) {
  const folder = mkdtempSync(join(tmpdir(), "pipewright-test-"));
  prepare(folder);
  const started = spawn(program, ["serve", "--no-browser", ...words], { cwd: folder });
  running.push({ started, folder });
  const address = await new Promise((done, fail) => {
    let said = "";
    started.stdout.on("data", (text) => {
      said += text;
      const found = said.match(/http:\S+/);
      if (found) done(found[0]);
    });
    started.on("exit", (status) => fail(new Error(`the server ended with ${status}`)));
  });
  return { address, folder, process: started };
}

// Opens the page and waits until its first run is simulated.
export async function openServed(server, options = {}) {
  const page = await openAddress(server.address, options);
  await simulated(page);
  return page;
}

export const simulated = (page) => page.waitForFunction(() =>
  document.getElementById("state").textContent.startsWith("simulated") &&
  !document.querySelector("iframe.behind") && document.querySelector("#pane-run iframe"));

after(() => {
  for (const { started, folder } of running) {
    started.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
});
