#include "analysis/report/export/spans.hpp"

#include <algorithm>

namespace pipewright::analysis {

Span PassSpans::next(const trace::PassRow& pass) {
  Span span{nanoseconds(pass.start), nanoseconds(pass.end), nanoseconds(pass.released)};
  Span& previous = last_spans_.at(pass.device);
  const bool is_fused = span.start == previous.start && span.end == previous.end;
  if (!is_fused) span.start = std::max(span.start, previous.released);
  span.end = std::max(span.start, span.end);
  span.released = std::max(span.end, span.released);
  if (is_fused) span.released = std::max(span.released, previous.released);
  previous = span;
  return span;
}

using trace::PassKind;
using trace::TransferKind;

Handovers::Handovers(const std::vector<trace::StageRow>& stages) {
  for (const trace::StageRow& stage : stages) stages_ = std::max(stages_, stage.stage + 1);
}

std::optional<Handover> Handovers::produced(const trace::PassRow& pass, const Span& span) {
  const Side side{true, pass.device, span};
  if (pass.kind == PassKind::forward && pass.stage + 1 < stages_)
    return match(TransferKind::activation, pass.stage, pass.microbatch, side);
  if (makes_gradient(pass.kind) && pass.stage > 0)
    return match(TransferKind::gradient, pass.stage, pass.microbatch, side);
  return {};
}

std::optional<Handover> Handovers::consumed(const trace::PassRow& pass, const Span& span) {
  const Side side{false, pass.device, span};
  if (pass.kind == PassKind::forward && pass.stage > 0)
    return match(TransferKind::activation, pass.stage - 1, pass.microbatch, side);
  if (makes_gradient(pass.kind) && pass.stage + 1 < stages_)
    return match(TransferKind::gradient, pass.stage + 1, pass.microbatch, side);
  return {};
}

// Returns the handover if the other side of this pass was seen before. `stage` is that of the
// producing pass.
std::optional<Handover> Handovers::match(TransferKind kind, std::uint32_t stage,
                                         std::uint32_t microbatch, const Side& side) {
  const std::uint64_t key = (std::uint64_t{stage} << 33) |
                            (std::uint64_t{kind == TransferKind::gradient} << 32) | microbatch;
  const auto [entry, is_new] = waiting_.try_emplace(key, side);
  if (is_new) return {};
  const Side counterpart = entry->second;
  if (counterpart.produces == side.produces) {  // If a pass occurs twice, the later one counts.
    entry->second = side;
    return {};
  }
  waiting_.erase(entry);
  const Side& producer = side.produces ? side : counterpart;
  const Side& consumer = side.produces ? counterpart : side;
  if (producer.device == consumer.device || producer.span.end > consumer.span.start) return {};
  return Handover{kind, producer.device, consumer.device, producer.span, consumer.span};
}

}  // namespace pipewright::analysis
