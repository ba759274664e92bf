#include "analysis/report/why/trace_index.hpp"

#include <algorithm>

namespace pipewright::analysis {

using trace::CollectiveRow;
using trace::PassKind;
using trace::PassRow;
using trace::StepRow;

void RowsByStage::reserve(std::size_t rows, std::uint64_t stages, std::uint64_t microbatches) {
  stages_ = stages;
  microbatches_ = microbatches;
  const std::uint64_t max_table_size = 8 * std::uint64_t{rows} + 1024;
  if (stages > 0 && microbatches <= max_table_size / stages)
    table_.resize(stages * microbatches);
  else
    map_.reserve(rows);
}

void RowsByStage::add(std::uint32_t stage, std::uint32_t microbatch, std::size_t row) {
  const auto number = static_cast<std::uint32_t>(row + 1);
  const std::uint64_t key = stage * microbatches_ + microbatch;
  std::uint32_t& slot = table_.empty() ? map_[key] : table_[key];
  if (slot == 0) slot = number;
}

std::size_t RowsByStage::find(std::uint32_t stage, std::uint32_t microbatch) const {
  if (stage >= stages_ || microbatch >= microbatches_) return no_row;
  const std::uint64_t key = stage * microbatches_ + microbatch;
  if (!table_.empty()) return table_[key] == 0 ? no_row : table_[key] - 1;
  const auto it = map_.find(key);
  return it == map_.end() ? no_row : it->second - 1;
}

TraceIndex::TraceIndex(const trace::Trace& trace)
    : trace_(trace),
      units_on_(trace.devices.size()),
      steps_on_(trace.devices.size()),
      collectives_on_(trace.devices.size()) {
  add_units();
  add_passes();
  for (const StepRow& row : trace.steps) steps_on_.at(row.device).push_back(&row);
  for (auto& rows : steps_on_) std::ranges::stable_sort(rows, {}, &StepRow::end);
  for (const CollectiveRow& row : trace.collectives) collectives_on_.at(row.device).push_back(&row);
  for (auto& rows : collectives_on_) std::ranges::stable_sort(rows, {}, &CollectiveRow::end);
  for (const trace::StageRow& row : trace.stages) {
    if (row.stage >= in_passes_.size()) {
      in_passes_.resize(std::size_t{row.stage} + 1);
      in_pairs_.resize(in_passes_.size());
    }
    in_passes_[row.stage] = row.exposed_in_passes();
    in_pairs_[row.stage] = row.exposed_in_pairs();
  }
  for (const trace::PathRow& row : trace.paths)
    paths_.try_emplace({row.traffic, row.source, row.destination, row.stage}, &row);
  for (const PassRow& row : trace.passes) makespan_ = std::max(makespan_, row.end);
  has_inputs_ = trace.devices.size() == 1 ||
                std::ranges::any_of(trace.passes, [](const PassRow& row) { return row.ready > 0; });
  for (const StepRow& row : trace.steps) makespan_ = std::max(makespan_, row.end);
  for (const trace::WaitRow& row : trace.waits) makespan_ = std::max(makespan_, row.time);
}

void TraceIndex::add_units() {
  unit_of_.reserve(trace_.passes.size());
  units_.reserve(trace_.passes.size());
  for (std::size_t i = 0; i < trace_.passes.size(); ++i) {
    const PassRow& row = trace_.passes[i];
    auto& on_device = units_on_.at(row.device);
    const std::size_t before = on_device.empty() ? no_row : on_device.back();
    if (before != no_row && !units_[before].is_fused()) {
      const PassRow& previous = trace_.passes[units_[before].first];
      const bool both_forward = row.kind == PassKind::forward && previous.kind == PassKind::forward;
      // Two forwards that take no time run one after the other.
      const bool is_pair =
          both_forward ? row.start < row.end
                       : row.kind == PassKind::forward || previous.kind == PassKind::forward;
      if (is_pair && row.start == previous.start && row.end == previous.end) {
        units_[before].last = i;
        unit_of_.push_back(static_cast<std::uint32_t>(before));
        continue;
      }
    }
    const std::size_t unit = units_.size();
    units_.push_back({.first = i, .last = i, .previous = before});
    on_device.push_back(static_cast<std::uint32_t>(unit));
    unit_of_.push_back(static_cast<std::uint32_t>(unit));
  }
}

void TraceIndex::add_passes() {
  std::uint64_t stages = 0;
  std::uint64_t microbatches = 0;
  const auto count = [&](std::uint32_t stage, std::uint32_t microbatch) {
    stages = std::max(stages, std::uint64_t{stage} + 1);
    microbatches = std::max(microbatches, std::uint64_t{microbatch} + 1);
  };
  for (const PassRow& row : trace_.passes) count(row.stage, row.microbatch);
  for (const trace::TransferRow& row : trace_.transfers) count(row.stage, row.microbatch);
  for (RowsByStage* rows : {&forwards_, &gradients_, &outputs_, &output_grads_})
    rows->reserve(trace_.passes.size(), stages, microbatches);
  for (RowsByStage* rows : {&activation_transfers_, &gradient_transfers_})
    rows->reserve(trace_.transfers.size(), stages, microbatches);
  for (std::size_t i = 0; i < trace_.passes.size(); ++i) {
    const PassRow& row = trace_.passes[i];
    if (row.kind == PassKind::forward) forwards_.add(row.stage, row.microbatch, i);
    if (makes_gradient(row.kind)) gradients_.add(row.stage, row.microbatch, i);
    if (row.kind == PassKind::output) outputs_.add(row.stage, row.microbatch, i);
    if (row.kind == PassKind::output_grad) output_grads_.add(row.stage, row.microbatch, i);
  }
  for (std::size_t i = 0; i < trace_.transfers.size(); ++i) {
    const trace::TransferRow& row = trace_.transfers[i];
    const bool activation = row.kind == trace::TransferKind::activation;
    (activation ? activation_transfers_ : gradient_transfers_).add(row.stage, row.microbatch, i);
  }
}

std::size_t TraceIndex::last_of(const RowsByStage& rows, std::uint32_t microbatch,
                                double time) const {
  std::size_t latest = no_row;
  for (const trace::StageRow& stage : trace_.stages) {
    const std::size_t row = rows.find(stage.stage, microbatch);
    if (row == no_row || trace_.passes[row].end > time) continue;
    if (latest == no_row || trace_.passes[latest].end < trace_.passes[row].end) latest = row;
  }
  return latest;
}

std::size_t TraceIndex::producer(const PassRow& pass) const {
  switch (pass.kind) {
    case PassKind::forward:
      return pass.stage == 0 ? no_row : forwards_.find(pass.stage - 1, pass.microbatch);
    case PassKind::weight_grad:  // needs the gradient of I
      return gradients_.find(pass.stage, pass.microbatch);
    case PassKind::recompute:  // needs the input that F stored
      return forwards_.find(pass.stage, pass.microbatch);
    case PassKind::output:  // needs the activations of the last stage
      return last_of(forwards_, pass.microbatch, pass.start);
    case PassKind::output_grad:  // needs the sums over S of all devices
      return last_of(outputs_, pass.microbatch, pass.start);
    case PassKind::input_grad:
    case PassKind::backward:
      break;
  }
  const std::size_t above = gradients_.find(pass.stage + 1, pass.microbatch);
  // The last stage turns the activation into the gradient by the loss, or by the passes of all
  // devices if the vocabulary is split. With one barrier, T of all devices need not precede this
  // pass.
  if (above == no_row && outputs_.find(0, pass.microbatch) != no_row) {
    const std::size_t output = last_of(outputs_, pass.microbatch, pass.start);
    const std::size_t grad = last_of(output_grads_, pass.microbatch, pass.start);
    const bool waits_for_grads = std::ranges::all_of(trace_.stages, [&](const auto& stage) {
      const std::size_t row = output_grads_.find(stage.stage, pass.microbatch);
      return row == no_row || trace_.passes[row].end <= pass.start;
    });
    return waits_for_grads && grad != no_row ? grad : output;
  }
  return above != no_row ? above : forwards_.find(pass.stage, pass.microbatch);
}

std::size_t TraceIndex::consumer(const PassRow& pass) const {
  if (pass.kind == PassKind::forward) return forwards_.find(pass.stage + 1, pass.microbatch);
  if (!makes_gradient(pass.kind) || pass.stage == 0) return no_row;
  return gradients_.find(pass.stage - 1, pass.microbatch);
}

std::size_t TraceIndex::transfer_to(const PassRow& pass) const {
  if (pass.kind == PassKind::forward)
    return pass.stage == 0 ? no_row : activation_transfers_.find(pass.stage - 1, pass.microbatch);
  if (!makes_gradient(pass.kind)) return no_row;
  return gradient_transfers_.find(pass.stage + 1, pass.microbatch);
}

const trace::PathRow* TraceIndex::path(trace::TrafficClass traffic, std::uint32_t source,
                                       std::uint32_t destination, std::uint32_t stage) const {
  const auto it = paths_.find({traffic, source, destination, stage});
  return it == paths_.end() ? nullptr : it->second;
}

const trace::PathRow* TraceIndex::path_of_output(std::size_t pass) const {
  const PassRow& row = trace_.passes[pass];
  const std::size_t to = consumer(row);
  if (to == no_row) return nullptr;
  const bool forward = row.kind == PassKind::forward;
  return path(forward ? trace::TrafficClass::activation : trace::TrafficClass::gradient, row.device,
              trace_.passes[to].device, 0);
}

double TraceIndex::exposed_within(std::size_t pass) const {
  const PassRow& row = trace_.passes[pass];
  if (row.stage >= in_passes_.size()) return 0;
  const bool fused = units_[unit_of(pass)].is_fused();
  const auto& of_stage = fused ? in_pairs_[row.stage] : in_passes_[row.stage];
  return std::min(of_stage.at(static_cast<std::size_t>(row.kind)), own_seconds(pass));
}

double TraceIndex::own_seconds(std::size_t pass) const {
  const PassRow& row = trace_.passes[pass];
  return (row.end - row.start) / (units_[unit_of(pass)].is_fused() ? 2 : 1);
}

const StepRow* TraceIndex::step_at(std::uint32_t device, double time) const {
  const auto& rows = steps_on_[device];
  const auto it = std::ranges::lower_bound(rows, time, {}, &StepRow::end);
  return it == rows.end() ? nullptr : *it;
}

const StepRow* TraceIndex::step_before(std::uint32_t device, double time) const {
  const auto& rows = steps_on_[device];
  const auto after =
      std::upper_bound(rows.begin(), rows.end(), time + time_tolerance(time),
                       [](double limit, const StepRow* row) { return limit < row->end; });
  return after == rows.begin() ? nullptr : *(after - 1);
}

const StepRow* TraceIndex::step_before_unit(std::size_t unit) const {
  const PassRow& row = trace_.passes[units_[unit].first];
  const StepRow* step = step_before(row.device, row.start);
  if (step == nullptr || units_[unit].previous == no_row) return step;
  const double end = trace_.passes[units_[units_[unit].previous].last].end;
  return step->start < end - time_tolerance(end) ? nullptr : step;
}

}  // namespace pipewright::analysis
