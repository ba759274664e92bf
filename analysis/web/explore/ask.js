// Requests to the server that delivered this page.

export const element = (id) => document.getElementById(id);

// State that the browser keeps for this tab, even when the page is reloaded.
const MEMORY = "pipewright-explore";
export const remembered = JSON.parse(sessionStorage.getItem(MEMORY) ?? "{}");
export const TAB = remembered.tab ?? Array.from(crypto.getRandomValues(new Uint8Array(12)),
                                         (byte) => byte.toString(16).padStart(2, "0")).join("");
export const remember = (state) =>
  sessionStorage.setItem(MEMORY, JSON.stringify({ tab: TAB, ...state }));

// Sends a request and calls `onLine` for each line of JSON in the answer. A new request cancels the
// previous one of the same kind, on the server as well.
const activeRequests = new Map();

export async function ask(kind, question, onLine) {
  activeRequests.get(kind)?.abort();
  const cancellation = new AbortController();
  activeRequests.set(kind, cancellation);
  try {
    const response = await fetch(`/api/${kind}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ tab: TAB, ...question }),
      signal: cancellation.signal,
    });
    if (!response.ok) throw new Error(await response.text());
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ;) {
      const { done, value } = await reader.read();
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) if (!cancellation.signal.aborted) onLine(JSON.parse(line));
    }
  } catch (error) {
    if (cancellation.signal.aborted) return;
    const isUnreachable = error instanceof TypeError;  // as fetch reports a missing server
    onLine({ failure: isUnreachable ? "the server is not running; start pipewright serve again"
                                    : error.message });
  } finally {
    if (activeRequests.get(kind) === cancellation) activeRequests.delete(kind);
  }
}

export const stopAsking = (kind) => activeRequests.get(kind)?.abort();
