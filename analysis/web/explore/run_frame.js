// The page of a run, as `run -o page.html` writes it, within this one. The next is loaded out of sight
// and then takes its place, where the reader has scrolled to.

class RunFrame {
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
    for (let i = 0; i < 600 && frame.isConnected && !frame.contentWindow.pipewright; ++i)
      await new Promise((done) => setTimeout(done, 10));
    if (this.loading !== frame || !frame.isConnected) return;
    this.fit(frame);
    const before = this.shown?.contentDocument?.documentElement;
    if (before) frame.contentDocument.documentElement.scrollTop = before.scrollTop;
    this.shown?.remove();
    frame.className = "";
    [this.shown, this.loading] = [frame, null];
    this.place.classList.remove("stale");
  }

  // Its heading and its figures stand above it here.
  fit(frame) {
    const root = frame.contentDocument.documentElement;
    root.classList.add("within");
    const dark = document.documentElement.classList.contains("dark");
    if (root.classList.contains("dark") !== dark) frame.contentDocument.getElementById("theme").click();
  }

  restyle() {
    if (this.shown?.contentDocument) this.fit(this.shown);
  }
}
