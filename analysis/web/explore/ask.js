// Questions to the server that this page is from.

const element = (id) => document.getElementById(id);
const given = JSON.parse(element("data").textContent);

// What the browser's tab remembers when the page is loaded again.
const MEMORY = "pipewright-explore";
const remembered = JSON.parse(sessionStorage.getItem(MEMORY) ?? "{}");
const TAB = remembered.tab ?? Array.from(crypto.getRandomValues(new Uint8Array(12)),
                                         (byte) => byte.toString(16).padStart(2, "0")).join("");
const remember = (what) =>
  sessionStorage.setItem(MEMORY, JSON.stringify({ tab: TAB, ...what }));

// Answers come as lines of JSON, each of which `hear` gets; a newer question of the kind ends the
// one before, with the server as well.
const underway = new Map();

async function ask(kind, question, hear) {
  underway.get(kind)?.abort();
  const ending = new AbortController();
  underway.set(kind, ending);
  try {
    const response = await fetch(`/api/${kind}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ tab: TAB, ...question }),
      signal: ending.signal,
    });
    if (!response.ok) throw new Error(await response.text());
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ;) {
      const { done, value } = await reader.read();
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) if (!ending.signal.aborted) hear(JSON.parse(line));
    }
  } catch (error) {
    if (ending.signal.aborted) return;
    const gone = error instanceof TypeError;  // what fetch says of a server that is not there
    hear({ failure: gone ? "the server has ended; start pipewright serve again" : error.message });
  } finally {
    if (underway.get(kind) === ending) underway.delete(kind);
  }
}

const stopAsking = (kind) => underway.get(kind)?.abort();
