#include "analysis/report/rl/rl_report.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/report_table.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {

namespace {

struct Phase {
  std::string_view name;
  double seconds = 0;
  std::string remark;
};

Phase generation_phase(const RlReport& report) {
  std::string remark = fmt::format("{:.0f} sequences on an engine on average", report.mean_batch);
  if (report.phases_overlap && report.engines > 1)
    remark += fmt::format(", engines {:.0f} to {:.0f} % busy", 100 * report.least_busy,
                          100 * report.most_busy);
  if (!report.generation_is_measured) remark += ", by the model of decoding";
  return {"generation", report.generation_s, std::move(remark)};
}

std::vector<Phase> trainer_phases(const RlReport& report) {
  return {{"log-probabilities", report.forward_s - report.reference_s, ""},
          {"reference model", report.reference_s, ""},
          {"training", report.training_s, ""}};
}

Phase weights_phase(const RlReport& report) {
  return {"weights to engines", report.sync_s,
          report.sync_bytes > 0
              ? format_bytes(static_cast<std::uint64_t>(report.sync_bytes)) + " over the cluster"
              : ""};
}

// Adds the time in which a pool of GPUs is idle.
std::vector<Phase> with_idle(std::vector<Phase> phases, double step_s) {
  for (const Phase& phase : phases) step_s -= phase.seconds;
  phases.push_back({"idle", std::max(0.0, step_s), ""});
  return phases;
}

}  // namespace

TextTable rl_phases(const RlReport& report) {
  std::vector<std::pair<std::string, Phase>> lines;  // each with its pool of GPUs
  const auto add_pool = [&](const char* pool, const std::vector<Phase>& phases) {
    for (const Phase& phase : phases)
      if (phase.seconds != 0) lines.emplace_back(pool, phase);
  };
  const Phase overhead{"other", report.overhead_s, ""};
  std::vector<Phase> phases = trainer_phases(report);
  if (report.phases_overlap) {
    phases.push_back(overhead);
    add_pool("training", with_idle(phases, report.step_s));
    add_pool("generation",
             with_idle({generation_phase(report), weights_phase(report)}, report.step_s));
  } else {
    phases.insert(phases.begin(), generation_phase(report));
    phases.insert(phases.end(), {weights_phase(report), overhead});
    add_pool("", phases);
  }
  std::vector<std::string> pools;
  std::vector<std::string> names;
  std::vector<std::string> seconds;
  std::vector<std::string> shares;
  std::vector<std::string> remarks;
  for (const auto& [pool, phase] : lines) {
    pools.push_back(pool);
    names.emplace_back(phase.name);
    seconds.push_back(format_seconds(phase.seconds));
    shares.push_back(fmt::format("{:.0f} %", 100 * phase.seconds / report.step_s));
    remarks.push_back(phase.remark);
  }
  TextTable table;
  if (report.phases_overlap) table.add_names("GPUs of", pools);
  table.add_names("phase", names);
  table.add_numbers({"time"}, seconds);
  table.add_numbers({"of a step"}, shares);
  table.add_names("", remarks);
  return table;
}

TextTable rl_variants(const RlReport& report) {
  std::vector<std::string> names;
  std::vector<std::string> seconds;
  std::vector<std::string> gains;
  for (const RlVariant& variant : report.variants) {
    names.push_back(variant.name);
    seconds.push_back(format_seconds(variant.step_s));
    gains.push_back(fmt::format("{:+.1f} %", 100 * (variant.step_s / report.step_s - 1)));
  }
  TextTable table;
  table.add_names("what if", names);
  table.add_numbers({"step"}, seconds);
  table.add_numbers({"change"}, gains);
  return table;
}

TextTable rl_splits(const RlReport& report) {
  const auto best = std::ranges::min_element(report.splits, {}, &RlSplit::step_s);
  std::vector<std::string> training;
  std::vector<std::string> rollout;
  std::vector<std::string> seconds;
  std::vector<std::string> trainer;
  std::vector<std::string> engines;
  std::vector<std::string> marks;
  for (const RlSplit& split : report.splits) {
    training.push_back(fmt::format("{}", split.training_gpus));
    rollout.push_back(fmt::format("{}", split.rollout_gpus));
    seconds.push_back(format_seconds(split.step_s));
    trainer.push_back(format_percent(1 - split.trainer_busy));
    engines.push_back(format_percent(1 - split.engines_busy));
    marks.emplace_back(&split == &*best ? "best" : "");
  }
  TextTable table;
  table.add_numbers({"training", "GPUs"}, training);
  table.add_numbers({"generation", "GPUs"}, rollout);
  table.add_numbers({"step"}, seconds);
  table.add_numbers({"training", "idle"}, trainer);
  table.add_numbers({"generation", "idle"}, engines);
  table.add_names("", marks);
  return table;
}

std::string rl_subject(const RlReport& report) {
  const std::string pools =
      report.rollout_gpus == 0
          ? fmt::format("{} train and generate in turn", counted(report.training_gpus, "GPU"))
          : fmt::format("{} train, {} generate", counted(report.training_gpus, "GPU"),
                        report.rollout_gpus);
  return fmt::format(
      "{}\n{}, {} of tp {}\n{} x {}, {:.0f} tokens a response (longest {:.0f}), {}\n",
      report.subject, pools, counted(report.engines, "engine"), report.engine_gpus,
      counted(report.prompts, "prompt"), counted(report.responses, "response"),
      report.mean_response, report.longest_response, report.mode);
}

std::string rl_answer(const RlReport& report) {
  return fmt::format(
      "step {}, {}, {:.0f} tokens/s/GPU\ntraining idle {}, generation idle {} of the time\n",
      format_seconds(report.step_s), format_rate(report.tokens_per_s(), "tokens"),
      report.tokens_per_s() / report.gpus(), format_percent(1 - report.trainer_busy),
      format_percent(1 - report.engines_busy));
}

std::string rl_remarks(const RlReport& report) {
  std::string text;
  if (report.error_low < report.error_high)
    text += fmt::format("training: expected error {:+.0f} .. {:+.0f} %\n", 100 * report.error_low,
                        100 * report.error_high);
  if (!report.generation_is_measured)
    text +=
        "generation: not measured; real engines take longer than this model of memory and compute. "
        "rl.rollout.table takes measured points\n";
  return text;
}

std::string rl_text(const RlReport& report) {
  std::string text = rl_subject(report) + "\n" + rl_answer(report) + "\n";
  text += rl_phases(report).text();
  if (!report.variants.empty()) text += "\n" + rl_variants(report).text();
  if (!report.splits.empty()) text += "\n" + rl_splits(report).text();
  return text + "\n" + rl_remarks(report);
}

std::string rl_json(const RlReport& report) {
  Json json{{"subject", report.subject},
            {"mode", report.mode},
            {"prompts", report.prompts},
            {"responses", report.responses},
            {"mean_response_tokens", report.mean_response},
            {"longest_response_tokens", report.longest_response},
            {"step_tokens", report.step_tokens},
            {"training_gpus", report.training_gpus},
            {"rollout_gpus", report.rollout_gpus},
            {"engines", report.engines},
            {"engine_gpus", report.engine_gpus},
            {"step_s", report.step_s},
            {"tokens_per_s", report.tokens_per_s()},
            {"generation_s", report.generation_s},
            {"forward_s", report.forward_s},
            {"reference_s", report.reference_s},
            {"training_s", report.training_s},
            {"sync_s", report.sync_s},
            {"sync_bytes", report.sync_bytes},
            {"overhead_s", report.overhead_s},
            {"trainer_busy", report.trainer_busy},
            {"engines_busy", report.engines_busy},
            {"least_engine_busy", report.least_busy},
            {"most_engine_busy", report.most_busy},
            {"mean_batch", report.mean_batch},
            {"generation_is_measured", report.generation_is_measured}};
  if (report.error_low < report.error_high)
    json["training_expected_error"] = {{"low", report.error_low}, {"high", report.error_high}};
  json["variants"] = Json::array();
  for (const RlVariant& variant : report.variants)
    json["variants"].push_back({{"name", variant.name}, {"step_s", variant.step_s}});
  json["splits"] = Json::array();
  for (const RlSplit& split : report.splits)
    json["splits"].push_back({{"training_gpus", split.training_gpus},
                              {"rollout_gpus", split.rollout_gpus},
                              {"step_s", split.step_s},
                              {"trainer_busy", split.trainer_busy},
                              {"engines_busy", split.engines_busy}});
  json["notes"] = report.notes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pipewright::analysis
