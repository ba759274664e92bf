// The use of links over time.

// The first row of the piece of time after that of row `i`.
function nextPiece(use, i, end) {
  const { start } = use;
  let next = i + 1;
  while (next < end && start[next] === start[i]) ++next;
  return next;
}

// Whether a link's use is known in pieces of the run rather than as a whole.
function hasPieces(use, link, makespan) {
  for (let i = use.first[link]; i < use.first[link + 1]; ++i)
    if (use.end[i] - use.start[i] <= makespan / 2) return true;
  return false;
}

// Rows [low, high) of the piece of a link's use that holds a time; empty where nothing was on it.
function pieceAt(use, link, time) {
  const [begin, end] = [use.first[link], use.first[link + 1]];
  const after = firstAbove(use.start, begin, end, time);
  let low = after;
  while (low > begin && use.start[low - 1] === use.start[after - 1]) --low;
  return low < after && use.end[low] > time ? { low, high: after } : { low: after, high: after };
}
