// How many candidates have each outcome, and the reasons.

const OUTCOME_COLOURS = { 4: "#2b8cbe", 3: "#a6bddb", 0: "#d0d1e6", 5: "#b3261e", 2: "#e69f00", 1: "#9aa3af" };
const OUTCOME_ORDER = [OUTCOME.simulated, OUTCOME.boundedAway, OUTCOME.open, OUTCOME.failed, OUTCOME.doesNotFit,
                    OUTCOME.illegal];

const grouped = (count) => (count < 1e15 ? count.toLocaleString("en-US", { maximumFractionDigits: 0 })
                                         : count.toPrecision(2));

function fillOutcomes(element, rows) {
  const counts = [0, 0, 0, 0, 0, 0];
  for (const outcome of rows.outcome) ++counts[outcome];
  const parts = OUTCOME_ORDER.filter((outcome) => counts[outcome] > 0).map((outcome) => ({
    words: outcome === OUTCOME.open ? "not simulated yet" : search.outcomes[outcome],
    fill: OUTCOME_COLOURS[outcome],
    share: counts[outcome] / rows.count,
    text: `${grouped(counts[outcome])}, ${formatPercent(counts[outcome] / rows.count)}`,
  }));
  const cut = search.excluded.reduce((total, { combinations }) => total + combinations, 0);
  const head = textElement("h2", "What became of the candidates");
  const total = search.combinations === null ? "very many" : grouped(search.combinations);
  element.replaceChildren(
    head, textElement("p", `${total} combinations; rules cut away ${grouped(cut)}, ` +
                           `${grouped(rows.count)} became candidates`, "note"),
    stackedBar(parts), barLegend(parts), ruleList(), ...reasonLists(rows));
}

function ruleList() {
  if (search.excluded.length === 0) return "";
  const list = document.createElement("dl");
  const rules = [...search.excluded].sort((a, b) => b.combinations - a.combinations);
  for (const { rule, combinations } of rules)
    list.append(textElement("dt", grouped(combinations)), textElement("dd", shortened(rule, 300)));
  return detailsElement("rules and what each cut away", false, list);
}

function reasonLists(rows) {
  return Object.entries(search.reasons).filter(([, reasons]) => reasons.length > 0)
    .map(([outcome, reasons]) => {
      const list = document.createElement("dl");
      for (const { rows: count, row, note } of reasons) {
        const words = textElement("dd", shortened(note || "no reason was given", 400));
        words.append(document.createElement("br"),
                     textElement("small", `such as ${axisWords(rows, row)}`, "note"));
        list.append(textElement("dt", grouped(count)), words);
      }
      return detailsElement(`${outcome}: the most common reasons`, outcome === "failed", list);
    });
}
