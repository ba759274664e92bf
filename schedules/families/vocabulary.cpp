#include "schedules/families/vocabulary.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "schedules/families/fitted.hpp"
#include "schedules/timing.hpp"

namespace pipewright::schedules {
namespace {

// Appends S and T of a device in the order of sail-sg/VocabularyParallelism: T of a microbatch runs
// right before S of the next one, so that a device stores the logits of one microbatch.
class Outputs {
 public:
  Outputs(std::uint16_t stage, std::uint32_t microbatches)
      : stage_(stage), microbatches_(microbatches) {}

  std::uint32_t next() const { return next_; }
  void skip(std::uint32_t count) { next_ += count; }
  // Appends T of the previous microbatch and S of the next one, as far as there are such.
  void append_to(std::vector<Pass>& passes) {
    if (next_ > 0) passes.push_back({PassKind::output_grad, stage_, next_ - 1});
    if (next_ < microbatches_) passes.push_back({PassKind::output, stage_, next_});
    ++next_;
  }

 private:
  std::uint16_t stage_;
  std::uint32_t microbatches_;
  std::uint32_t next_ = 0;
};

}  // namespace

std::uint32_t barriers_of(std::string_view name, const Parameters& parameters,
                          std::uint32_t smallest) {
  constexpr std::uint32_t largest = 2;
  const std::uint32_t barriers = parameters.barriers.value_or(0);
  if (barriers > largest || (barriers > 0 && barriers < smallest))
    throw Error(fmt::format("{}: barriers must be 0{} or 2, not {}", name,
                            smallest == largest ? "" : ", 1", barriers));
  return barriers;
}

// The order of vocab_parallel_schedule.py in sail-sg/VocabularyParallelism with F : B = 1 : 2, the
// ratio that it assumes before it has measured passes. A device whose distance d to the last device
// is a positive multiple of 3 runs B, F, S in turn, the others B, S, F. d - floor((d-1)/3) S run
// before the first B in addition to the one or two of the last device.
Program one_f_one_b_with_vocabulary(std::uint32_t device, const Parameters& parameters) {
  const auto stage = static_cast<std::uint16_t>(device);
  const std::uint32_t microbatches = parameters.microbatches;
  const std::uint32_t barriers = parameters.barriers.value();
  const std::uint32_t distance = parameters.devices - 1 - device;
  const std::uint32_t warmup = std::min(distance + 1, microbatches);
  const bool output_first = distance == 0 || distance % 3 != 0;
  const std::uint32_t early_outputs = distance == 0 ? 0 : distance - (distance - 1) / 3;

  Program program;
  program.repeat(warmup, 1, {{PassKind::forward, stage, 0}});
  Outputs outputs(stage, microbatches);
  std::uint32_t forwards = warmup;
  std::vector<Pass> passes;
  for (std::uint32_t barrier = 0; barrier < barriers; ++barrier) {
    outputs.append_to(passes);
    if (forwards < microbatches) passes.push_back({PassKind::forward, stage, forwards++});
  }
  // T of the last microbatch runs at the end if there is one barrier.
  const std::uint32_t last_output = microbatches + barriers - 2;
  for (std::uint32_t i = 0; i < early_outputs && outputs.next() <= last_output; ++i)
    outputs.append_to(passes);
  program.repeat(1, 0, std::exchange(passes, {}));

  const std::uint32_t rounds = microbatches - forwards;
  if (rounds > 0) {
    passes.push_back({PassKind::backward, stage, 0});
    if (!output_first) passes.push_back({PassKind::forward, stage, forwards});
    outputs.append_to(passes);
    if (output_first) passes.push_back({PassKind::forward, stage, forwards});
    program.repeat(rounds, 1, std::exchange(passes, {}));
    outputs.skip(rounds - 1);
  }
  for (std::uint32_t backward = rounds; backward < microbatches; ++backward) {
    passes.push_back({PassKind::backward, stage, backward});
    if (outputs.next() <= last_output) outputs.append_to(passes);
  }
  while (outputs.next() <= microbatches) outputs.append_to(passes);
  program.repeat(1, 0, std::move(passes));
  return program;
}

// The rule of branch v-half-vocab of sail-sg/zero-bubble-pipeline-parallelism (passes.py): all
// devices run S of a microbatch when device 0 has run its last F and the time of one I has passed,
// and T at S of the next microbatch; but no later than the first pass that waits for them, which
// with few microbatches comes earlier.
void add_vocabulary_to_v(Schedule& schedule, const Parameters& parameters) {
  const PassTimes times = stage_times(parameters, schedule.routes);
  const auto mean = [&](PassKind kind) {
    double sum = 0;
    for (const double seconds : times[kind]) sum += seconds;
    return sum / schedule.stages();
  };
  struct Placed {
    Pass pass;
    double start = 0;
  };
  std::vector<std::vector<Placed>> rows(schedule.devices);
  std::vector<double> outputs;            // Times of S, by microbatch.
  std::vector<double> first_input_grads;  // Starts of I on the last stage.
  const HopTimes hops(parameters.hop);
  Timing(schedule, times, hops, P2p::eager)
      .run([&](std::uint32_t device, const Pass& pass, const PassSpan& span) {
        rows[device].push_back({pass, span.start});
        if (pass.stage + 1U != schedule.stages()) return;
        if (pass.kind == PassKind::forward)
          outputs.push_back(span.end + mean(PassKind::input_grad));
        if (pass.kind == PassKind::input_grad) first_input_grads.push_back(span.start);
      });

  schedule.barriers = parameters.barriers.value();
  std::vector<double> grads(outputs.begin() + 1, outputs.end());  // Times of T.
  grads.push_back(outputs.back() + 2 * (mean(PassKind::input_grad) + mean(PassKind::forward)));
  std::vector<double>& awaited = schedule.barriers == 1 ? outputs : grads;
  constexpr double before = 1 - 1e-9;  // Part of the time of a pass that is before its start.
  for (std::size_t i = 0; i < awaited.size(); ++i)
    awaited[i] = std::min(awaited[i], before * first_input_grads[i]);
  for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = std::min(outputs[i], grads[i]);

  for (std::uint32_t device = 0; device < schedule.devices; ++device) {
    const auto stage = static_cast<std::uint16_t>(device);
    std::vector<Pass> passes;
    std::uint32_t output = 0;
    std::uint32_t grad = 0;
    const auto add_before = [&](double time) {
      while (grad < grads.size()) {
        const bool is_output =
            output < outputs.size() && (grad == output || outputs[output] < grads[grad]);
        if ((is_output ? outputs[output] : grads[grad]) >= time) break;
        passes.push_back(is_output ? Pass{PassKind::output, stage, output++}
                                   : Pass{PassKind::output_grad, stage, grad++});
      }
    };
    for (const Placed& placed : rows[device]) {
      add_before(placed.start);
      passes.push_back(placed.pass);
    }
    add_before(std::numeric_limits<double>::infinity());
    schedule.programs[device] = fold(passes);
  }
}

void add_vocabulary_after(std::vector<Pass>& body, std::uint16_t stage, std::uint32_t microbatch) {
  body.push_back({PassKind::output, stage, microbatch});
  body.push_back({PassKind::output_grad, stage, microbatch});
}

}  // namespace pipewright::schedules
