#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/nemo/nemo.hpp"
#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/model_names.hpp"

namespace pipewright::jobs::nemo {
namespace {

// Names of the variables that have a meaning here; a script's other variables concern files, NCCL
// and the like.
constexpr std::array read_names{"TENSOR_MODEL_PARALLEL",
                                "PIPELINE_MODEL_PARALLEL",
                                "INTERLEAVED_PIPELINE",
                                "CONTEXT_PARALLEL",
                                "EXPERT_MODEL_PARALLEL",
                                "EXPERT_TENSOR_PARALLEL",
                                "SEQ_PARALLEL",
                                "MICRO_BATCH_SIZE",
                                "GLOBAL_BATCH_SIZE",
                                "MAX_SEQLEN",
                                "TP_COMM_OVERLAP",
                                "ASYM_PP_EMBED",
                                "ASYM_PP_LOSS",
                                "USE_DIST_OPTIMIZER",
                                "OVERLAP_GRAD_REDUCE",
                                "OVERLAP_PARAM_GATHER",
                                "FP8_PARAMS",
                                "FP8_PARAM_GATHER",
                                "FP8",
                                "DGXNNODES",
                                "DGXNGPU"};
constexpr std::array unread_names{"ACT_CKPT_GRANULARITY", "ACT_CKPT_METHOD",  "ACT_CKPT_NUM_LAYERS",
                                  "CUDA_GRAPH",           "LAYER_CUDA_GRAPH", "MC_TP_OVERLAP_AG",
                                  "CPU_OFFLOADING"};

std::vector<Named> read_variables(const Script& script) {
  std::vector<Named> named;
  for (const auto& [name, variable] : script.variables)
    if (variable.words.size() == 1)
      named.push_back({.path = name,
                       .values = {variable.words.front().text},
                       .written = fmt::format("{}={}", name, variable.words.front().text),
                       .origin = variable.words.front().origin});
  return named;
}

// Model by the names in the variables, or else by a folder above the files: MLPerf has a folder for
// each of its models. A size alone means Llama 3.
std::string model_of(const std::vector<Named>& variables) {
  const auto value = [&](std::string_view name) -> std::string {
    const auto it = std::ranges::find(variables, name, &Named::path);
    return it == variables.end() ? "" : it->values.front();
  };
  const std::string size = value("MODEL_SIZE");
  for (const std::string& name :
       {value("MODEL_NAME"), value("MODEL"), fmt::format("{}-{}", value("MODEL_NAME"), size),
        fmt::format("{}-{}", value("MODEL"), size), size})
    if (std::string model = model_named(name); !model.empty()) return model;
  if (!variables.empty())
    for (const std::filesystem::path& folder :
         std::filesystem::absolute(variables.front().origin.source).parent_path())
      if (std::string model = model_named(folder.string()); !model.empty()) return model;
  return model_named(fmt::format("llama-3-{}", size));
}

}  // namespace

std::vector<Named> read_mlperf(const Script& script, Request& request) {
  const std::vector<Named> variables = read_variables(script);
  const auto value = [&](std::string_view name) -> const Named* {
    const auto it = std::ranges::find(variables, name, &Named::path);
    return it == variables.end() ? nullptr : &*it;
  };
  const auto number = [&](std::string_view name, std::uint64_t otherwise) {
    const Named* const variable = value(name);
    return variable == nullptr ? otherwise
                               : whole_number({.values = variable->values,
                                               .written = variable->written,
                                               .origin = variable->origin});
  };
  std::vector<Named> named;
  for (const char* const name : read_names)
    if (const Named* const variable = value(name)) named.push_back(*variable);
  if (value("DGXNGPU") == nullptr && value("DGXNNODES") != nullptr) {
    named.push_back({.path = "DGXNGPU", .values = {"8"}, .written = "DGXNGPU=8"});
    request.assumed.emplace_back("DGXNGPU is 8, as in config_common.sh for DGX nodes");
  }
  for (const char* const name : unread_names)
    if (const Named* const variable = value(name);
        variable != nullptr && !is_off(variable->values.front()))
      named.push_back({.path = fmt::format("model.{}", name),
                       .values = variable->values,
                       .written = variable->written,
                       .origin = variable->origin});
  const std::uint64_t tp = number("TENSOR_MODEL_PARALLEL", 1);
  const std::uint64_t pp = number("PIPELINE_MODEL_PARALLEL", 1);
  const std::uint64_t cp = number("CONTEXT_PARALLEL", 1);
  const std::uint64_t gpus = number("DGXNNODES", 1) * number("DGXNGPU", 8);
  constexpr std::uint64_t limit = 1U << 20U;
  // conf/custom.yaml: GBS = MINIBS * ((DGXNGPU * DGXNNODES) // (TP * PP * CP)).
  const Named* const mini = value("MINIBS");
  if (mini != nullptr && value("GLOBAL_BATCH_SIZE") == nullptr && tp > 0 && pp > 0 && cp > 0 &&
      tp < limit && pp < limit && cp < limit && number("MINIBS", 0) < limit && gpus < limit * 16)
    named.push_back(
        {.path = "global_batch_size",
         .values = {fmt::format("{}", number("MINIBS", 0) * (gpus / (tp * pp * cp)))},
         .written = fmt::format("{} x {} replicas", mini->written, gpus / (tp * pp * cp)),
         .origin = mini->origin});
  if (tp > 1 && value("SEQ_PARALLEL") == nullptr) {
    named.push_back(
        {.path = "sequence_parallel", .values = {"true"}, .written = "SEQ_PARALLEL by default"});
    request.assumed.emplace_back(
        "sequence parallelism is on, as in MLPerf's training with tensor parallelism");
  }
  request.model = model_of(variables);
  return named;
}

bool recognise_mlperf(const SourceText& file) {
  return file.may_be_shell() && !megatron::is_functional_test(file) &&
         (file.has("TENSOR_MODEL_PARALLEL=") || file.has("export DGXNNODES=") ||
          file.has("export MINIBS="));
}

Job read_mlperf_job(const JobInput& input) {
  Request request = empty_request(input);
  request.dialect = Dialect::recipe;
  const Script script = run_scripts(input.sources, input.words);
  note_unfollowed(script, request);
  const std::vector<Named> named = read_mlperf(script, request);
  translate(named, request);
  find_model(named, request);
  apply_gpus(input.words, request);
  return megatron::read(std::move(request));
}

}  // namespace pipewright::jobs::nemo
