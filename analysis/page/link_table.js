// What each link carried in the whole run.

function linkTable(run, traffic) {
  const carried = traffic.map((_, k) => run.links.some((link) => link.bytes[k] > 0));
  const column = (head, value, cell, anchor) => ({ head, value, cell, anchor });
  const number = (head, value, text, anchor) =>
    column(head, value, (link) => (value(link) === null ? "\u2013" : text(value(link))), anchor);
  return sortableTable([
    column("link", (link) => link.name, (link) => nameElement("span", link.name)),
    column("class", (link) => link.link_class, (link) => nameElement("span", link.link_class)),
    number("alike", (link) => link.alike, String, "alike"),
    number("bandwidth", (link) => link.bandwidth, formatBandwidth),
    ...traffic.flatMap(({ words }, k) =>
      (carried[k] ? [number(words, (link) => link.bytes[k], formatBytes)] : [])),
    number("mean use", (link) => link.mean_use, formatPercent, "link-use"),
    number("peak use", (link) => link.peak_use, formatPercent, "link-use"),
    number("waited", (link) => link.waited_s, formatSeconds, "waited"),
  ], run.links);
}
