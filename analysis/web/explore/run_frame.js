// The page of a run, as written by `run -o page.html`, in a frame. A new page is loaded invisibly, then
// replaces the old one at the same scroll position.

export class RunFrame {
  constructor(place, title) {
    Object.assign(this, { place, title });
    this.shown = null;
    this.loading = null;
  }

  async load(id) {
    this.loading?.remove();
    const frame = document.createElement("iframe");
    frame.title = this.title;
    frame.className = "behind";
    this.loading = frame;
    frame.src = `/results/${id}.html`;
    this.place.append(frame);
    await new Promise((done) => { frame.onload = done; });
    const draws = frame.contentDocument?.getElementById("data");  // other pages draw nothing
    for (let i = 0; i < 600 && draws && frame.isConnected && !frame.contentWindow.pipewright; ++i)
      await new Promise((done) => setTimeout(done, 10));
    if (this.loading !== frame || !frame.isConnected) return;
    this.fit(frame);
    const oldRoot = this.shown?.contentDocument?.documentElement;
    if (oldRoot) frame.contentDocument.documentElement.scrollTop = oldRoot.scrollTop;
    this.shown?.remove();
    frame.className = "";
    [this.shown, this.loading] = [frame, null];
    this.place.classList.remove("stale");
  }

  // Hides the heading and figures of the embedded page, which this page already shows.
  fit(frame) {
    const root = frame.contentDocument.documentElement;
    root.classList.add("within");
    const dark = document.documentElement.classList.contains("dark");
    if (root.classList.contains("dark") !== dark) frame.contentDocument.getElementById("theme")?.click();
  }

  restyle() {
    if (this.shown?.contentDocument) this.fit(this.shown);
  }
}
