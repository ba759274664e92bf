#include "analysis/measured/compare/flop_count.hpp"

#include <cmath>

#include <fmt/format.h>

namespace pipewright::analysis {
namespace {

// Returns the tokens per second of a GPU in an iteration: those of the line, or those that follow
// from the batch and the time. A line without a batch gets that of the prediction.
std::optional<double> tokens_of_line(const LogIteration& line, const trace::RunInfo& run,
                                     bool& assumes_batch) {
  if (line.tokens_per_gpu_s) return line.tokens_per_gpu_s;
  if (run.samples_per_microbatch <= 0) return std::nullopt;
  const double sequence = run.tokens_per_microbatch / run.samples_per_microbatch;
  const auto gpu_count = static_cast<double>(gpus(run));
  if (line.samples_per_s) return *line.samples_per_s * sequence / gpu_count;
  if (!line.elapsed_s || *line.elapsed_s <= 0) return std::nullopt;
  if (!line.batch_samples) assumes_batch = true;
  const double samples =
      line.batch_samples.value_or(run.samples_per_microbatch * run.microbatches * run.replicas);
  return samples * sequence / *line.elapsed_s / gpu_count;
}

double relative_distance(double value, double reference) { return std::abs(value / reference - 1); }

}  // namespace

bool FlopCount::differs() const { return relative_distance(logged, predicted) > 0.05; }

std::optional<double> FlopCount::conversion() const {
  if (!differs()) return 1;
  if (rule.empty()) return std::nullopt;
  return by_rule / predicted;
}

std::vector<FlopRule> flop_rules(const trace::RunInfo& run) {
  if (run.tokens_per_microbatch <= 0) return {};
  const auto per_token = [&](double flops) { return flops / run.tokens_per_microbatch; };
  const double causal = per_token(run.model_flops);
  const double full = per_token(run.full_attention_flops);
  const double recomputed = per_token(run.hardware_flops - run.model_flops);
  std::vector<FlopRule> rules{
      {"causal attention, which counts half of the scores", causal},
      {"products with weights alone, without attention scores", 2 * causal - full},
      {"a second forward pass of all layers, as with full recomputation", full * 4 / 3}};
  if (recomputed > 0) {
    rules.push_back({"recomputation as well", full + recomputed});
    rules.push_back({"recomputation as well, with causal attention", causal + recomputed});
  }
  return rules;
}

std::optional<FlopCount> flop_count(const RunFigures& predicted,
                                    const std::vector<LogIteration>& lines,
                                    const std::vector<FlopRule>& rules) {
  const trace::RunInfo& run = predicted.summary.run;
  if (run.tokens_per_microbatch <= 0 || run.full_attention_flops <= 0) return std::nullopt;
  FlopCount count{.predicted = run.full_attention_flops / run.tokens_per_microbatch,
                  .causal = run.model_flops / run.tokens_per_microbatch,
                  .rule = {}};
  double sum = 0;
  double terms = 0;
  for (const LogIteration& line : lines) {
    if (!line.flops_per_gpu) continue;
    const auto tokens = tokens_of_line(line, run, count.assumes_batch);
    if (!tokens || *tokens <= 0) continue;
    sum += *line.flops_per_gpu / *tokens;
    ++terms;
  }
  if (terms == 0 || sum <= 0) return std::nullopt;
  count.logged = sum / terms;
  if (!count.differs()) return count;
  std::vector<FlopRule> all = flop_rules(run);
  all.insert(all.end(), rules.begin(), rules.end());
  double nearest = 0.02;
  for (const FlopRule& rule : all)
    if (const double distance = relative_distance(rule.per_token, count.logged);
        distance <= nearest) {
      nearest = distance;
      count.rule = rule.words;
      count.by_rule = rule.per_token;
    }
  return count;
}

std::string flop_note(const FlopCount& count, bool is_same_batch) {
  constexpr double giga = 1e9;
  std::string text = fmt::format(
      "the log counts {:.1f} GFLOP a token{}, {:.2f} of the prediction's {:.1f} with full "
      "attention",
      count.logged / giga, count.assumes_batch ? ", if its batch is that of the prediction" : "",
      count.logged / count.predicted, count.predicted / giga);
  if (count.causal < 0.99 * count.predicted)
    text += fmt::format(" and {:.2f} of its {:.1f} with causal attention",
                        count.logged / count.causal, count.causal / giga);
  if (!count.rule.empty())
    return text + fmt::format("; this is the count of {}, and the predicted FLOP/s above count so",
                              count.rule);
  return text + (is_same_batch ? "; FLOP/s are not comparable, but times and tokens/s are"
                               : "; FLOP/s are not comparable");
}

}  // namespace pipewright::analysis
