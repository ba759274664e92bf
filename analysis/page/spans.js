// Pieces of time by device, each with a tone: what the lines of a timeline are made of.

class Spans {
  // `first`, `start`, `end`: of each device in order of `start`; `tone`: index of a colour.
  // `reach`: the latest end so far on the device, where that is known.
  constructor({ first, start, end, tone, reach = latestEnds(first, end) }) {
    Object.assign(this, { first, start, end, tone, reach });
  }

  // Those of a device that may show in a range of time: [low, high).
  range(device, from, to) {
    const last = this.first[device + 1];
    const low = firstAbove(this.reach, this.first[device], last, from);
    return [low, firstAbove(this.start, low, last, to)];
  }

  // How many there are in a range of time on all devices.
  count(from, to) {
    let sum = 0;
    for (let device = 0; device + 1 < this.first.length; ++device) {
      const [low, high] = this.range(device, from, to);
      sum += high - low;
    }
    return sum;
  }

  // The last of a device that covers a time, or NONE.
  at(device, time) {
    const [low, high] = this.range(device, time, time);
    for (let i = high - 1; i >= low; --i) if (this.end[i] >= time) return i;
    return NONE;
  }
}

function latestEnds(first, end) {
  const reach = new Float64Array(end.length);
  for (let device = 0; device + 1 < first.length; ++device)
    for (let i = first[device], latest = -Infinity; i < first[device + 1]; ++i)
      reach[i] = latest = Math.max(latest, end[i]);
  return reach;
}

// Rows in any order as spans: `deviceOf[i]`, `start[i]`, `end[i]` of row i. `row` tells which row
// each span is.
function sortedSpans(devices, deviceOf, start, end) {
  const count = start.length;
  const first = new Uint32Array(devices + 1);
  for (let i = 0; i < count; ++i) ++first[deviceOf[i] + 1];
  for (let device = 0; device < devices; ++device) first[device + 1] += first[device];
  const row = new Uint32Array(count);
  const next = first.slice();
  for (let i = 0; i < count; ++i) row[next[deviceOf[i]]++] = i;
  for (let device = 0; device < devices; ++device)
    sortByTime(row.subarray(first[device], first[device + 1]), start);
  const picked = (column) => {
    const values = new Float64Array(count);
    for (let k = 0; k < count; ++k) values[k] = column[row[k]];
    return values;
  };
  return { spans: { first, start: picked(start), end: picked(end) }, row };
}

// By insertion, which is quick as long as rows are nearly in order already.
function sortByTime(row, time) {
  let moves = 32 * row.length;
  for (let k = 1; k < row.length; ++k) {
    const one = row[k];
    let at = k;
    for (; at > 0 && time[row[at - 1]] > time[one]; --at) row[at] = row[at - 1];
    row[at] = one;
    moves -= k - at;
    if (moves < 0) return row.sort((a, b) => time[a] - time[b] || a - b);
  }
}
