#include "analysis/export/spans.hpp"

#include <algorithm>

namespace pipewright::analysis {

Span PassSpans::next(const trace::PassRow& pass) {
  Span span{nanoseconds(pass.start), nanoseconds(pass.end), nanoseconds(pass.released)};
  Span& last = last_.at(pass.device);
  const bool fused = span.start == last.start && span.end == last.end;
  if (!fused) span.start = std::max(span.start, last.released);
  span.end = std::max(span.start, span.end);
  span.released = std::max(span.end, span.released);
  if (fused) span.released = std::max(span.released, last.released);
  last = span;
  return span;
}

}  // namespace pipewright::analysis
