#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "schedules/text/torch_csv.hpp"
#include "sim/jobs/request/differences.hpp"
#include "sim/jobs/torchtitan/torchtitan.hpp"

namespace pipewright::jobs::torchtitan {
namespace {

// Flavours of models that torchtitan registers.
struct Flavour {
  std::string_view model, name, flavour;
};
constexpr std::array flavours{
    Flavour{"llama-3-8b", "llama3", "8B"},          Flavour{"llama-3-70b", "llama3", "70B"},
    Flavour{"llama-3-405b", "llama3", "405B"},      Flavour{"deepseek-v3", "deepseek_v3", "671B"},
    Flavour{"moonlight-16b", "deepseek_v3", "16B"}, Flavour{"qwen3-30b-a3b", "qwen3", "30B-A3B"}};

class Writer {
 public:
  Writer(const config::Scenario& scenario, const schedules::Schedule* planned)
      : scenario_(scenario), planned_(planned) {}

  Launch all() {
    model();
    parallel();
    schedule();
    training();
    launch_.extension = ".toml";
    compare();
    launch_.text = heading(scenario_, Framework::torchtitan, launch_.differs);
    const std::uint64_t gpus = scenario_.parallel.ranks_of_stage() * scenario_.devices.value;
    launch_.text += fmt::format("# NGPU={} CONFIG_FILE=./this.toml ./run_train.sh\n", gpus);
    for (const auto& [section, lines] : sections_) {
      launch_.text += fmt::format("\n[{}]\n", section);
      for (const std::string& line : lines) launch_.text += line + "\n";
    }
    return std::move(launch_);
  }

 private:
  void put(const std::string& section, const std::string& name, const std::string& value) {
    sections_[section].push_back(fmt::format("{} = {}", name, value));
  }
  void number(const std::string& section, const std::string& name, std::uint64_t value) {
    put(section, name, fmt::format("{}", value));
  }
  void cannot(std::string sentence) { launch_.differs.push_back(std::move(sentence)); }

  void model() {
    const std::string& name = scenario_.model->value.name;
    const auto known = std::ranges::find(flavours, std::string_view(name), &Flavour::model);
    if (known == flavours.end()) cannot(fmt::format("torchtitan registers no model {}", name));
    put("model", "name", fmt::format("\"{}\"", known == flavours.end() ? name : known->name));
    put("model", "flavor", fmt::format("\"{}\"", known == flavours.end() ? name : known->flavour));
    const std::string_view precision = config::name_of(scenario_.training.precision);
    if (precision == "fp8")
      put("model", "converters", "[\"quantize.linear.float8\"]");
    else if (precision == "mxfp8")
      put("model", "converters", "[\"quantize.linear.mx\"]");
    else if (precision != "bf16")
      cannot(fmt::format("torchtitan has no recipe {}", precision));
    if (precision == "fp8" && gathered_bytes(scenario_.training) == 1)
      put("quantize.linear.float8", "enable_fsdp_float8_all_gather", "true");
  }

  void parallel() {
    const config::Parallel& parallel = scenario_.parallel;
    const std::string section = "parallelism";
    const std::uint32_t shard = parallel.zero == 0 ? 1
                                : parallel.shard   ? parallel.shard->value
                                                   : parallel.dp.value;
    if (parallel.zero == 1 || parallel.zero == 2)
      cannot(fmt::format("torchtitan shards by FSDP, zero 3; zero is {}", parallel.zero));
    number(section, "data_parallel_replicate_degree", parallel.dp.value / std::max(shard, 1U));
    number(section, "data_parallel_shard_degree", shard);
    if (parallel.reshard_after_forward)
      put(section, "fsdp_reshard_after_forward",
          *parallel.reshard_after_forward ? "\"always\"" : "\"never\"");
    number(section, "tensor_parallel_degree", parallel.tp.value);
    if (scenario_.communication.tp_comm_overlap)
      put(section, "enable_async_tensor_parallel", "true");
    number(section, "context_parallel_degree", parallel.cp.value);
    if (parallel.cp.value > 1) {
      if (parallel.cp_comm == config::ContextComm::p2p)
        put(section, "context_parallel_rotate_method", "\"alltoall\"");
      else if (parallel.cp_comm == config::ContextComm::all_gather)
        put(section, "context_parallel_rotate_method", "\"allgather\"");
      else
        cannot("torchtitan rotates keys and values of context parallelism, or gathers them all");
    }
    number(section, "expert_parallel_degree", parallel.ep.value);
    if (parallel.etp) number(section, "expert_tensor_parallel_degree", parallel.etp->value);
    number(section, "pipeline_parallel_degree", scenario_.devices.value);
  }

  void schedule() {
    if (scenario_.devices.value == 1) return;
    const std::string section = "parallelism";
    const config::ScheduleSpec& spec = scenario_.schedules.front();
    const auto& given = spec[&schedules::Parameters::chunks];
    const std::uint64_t chunks = given ? given->value : 1;
    const std::string torch = torch_schedule(spec.name);
    const bool in_v = spec.name == "zb-v" || spec.name == "dualpipe-v";
    if (!torch.empty()) {
      put(section, "pipeline_parallel_schedule", fmt::format("\"{}\"", torch));
      if (chunks > 1 && !in_v && chunks != 2) {
        const std::uint64_t stages = chunks * scenario_.devices.value;
        const std::uint64_t layers = scenario_.model->value.layers + less() * 2;
        number(section, "pipeline_parallel_layers_per_stage", (layers + stages - 1) / stages);
      }
    } else {
      put(section, "pipeline_parallel_schedule_csv", "\"schedule.csv\"");
      if (planned_ != nullptr) {
        try {
          launch_.beside = schedules::to_torch_csv(*planned_);
          launch_.beside_name = "schedule.csv";
        } catch (const std::exception& refused) {
          cannot(refused.what());
        }
      } else {
        cannot(
            fmt::format("schedule.csv: 'pipewright schedule show {} -s {} -b {} --format csv' "
                        "prints it",
                        spec.name, scenario_.devices.value, scenario_.microbatches.value));
      }
    }
    number(section, "pipeline_parallel_microbatch_size", scenario_.training.microbatch_size);
    number(section, "pipeline_parallel_first_stage_less_layers", less());
    number(section, "pipeline_parallel_last_stage_less_layers", less());
  }

  std::uint64_t less() const {
    using Rule = config::Partition::Rule;
    return scenario_.partition.rule == Rule::ends_less ? 1 : 0;
  }

  void training() {
    const config::Training& training = scenario_.training;
    const std::uint64_t dp = scenario_.parallel.dp.value;
    const std::uint64_t local =
        scenario_.devices.value > 1
            ? std::uint64_t{scenario_.microbatches.value} * training.microbatch_size
            : training.microbatch_size;
    number("training", "local_batch_size", local);
    number("training", "global_batch_size",
           std::uint64_t{scenario_.microbatches.value} * dp * training.microbatch_size);
    number("training", "seq_len", training.sequence.value_or(scenario_.model->value.sequence));
    recompute();
    put("compile", "enable", "true");
    put("compile", "components", training.fused_loss ? "[\"model\", \"loss\"]" : "[\"model\"]");
  }

  void recompute() {
    using Granularity = config::Recompute::Granularity;
    const config::Recompute& recompute = scenario_.training.recompute;
    const std::string section = "activation_checkpoint";
    if (recompute.granularity == Granularity::none) return put(section, "mode", "\"none\"");
    if (recompute.granularity == Granularity::selective) {
      cannot("torchtitan makes whole layers again, or operations; modules are Megatron-LM's");
      return put(section, "mode", "\"none\"");
    }
    const bool is_op = recompute.granularity == Granularity::op;
    if (!is_op && recompute.every == 1) return put(section, "mode", "\"full\"");
    put(section, "mode", "\"selective\"");
    put(section, "selective_ac_option", is_op ? "\"op\"" : fmt::format("\"{}\"", recompute.every));
  }

  // What reading this gives again, against what was wanted.
  void compare() {
    std::string text;
    for (const auto& [section, lines] : sections_) {
      text += fmt::format("[{}]\n", section);
      for (const std::string& line : lines) text += line + "\n";
    }
    Request request{.framework = Framework::torchtitan,
                    .name = "job",
                    .settings = settings_of({"job.toml", text}),
                    .gpus = scenario_.parallel.ranks_of_stage() * scenario_.devices.value,
                    .gpus_from = "the scenario"};
    // The schedule's file is not there yet.
    const bool has_csv =
        torch_schedule(scenario_.schedules.front().name).empty() && scenario_.devices.value > 1;
    std::erase_if(request.settings, [](const Setting& one) {
      return one.name == "parallelism.pipeline_parallel_schedule_csv";
    });
    try {
      const Job job = read(request);
      if (!job.missing.empty()) return;
      for (std::string& one : differences(scenario_, config::read_scenario(job.tree)))
        if (!has_csv || !one.starts_with("schedule.")) launch_.differs.push_back(std::move(one));
    } catch (const config::Error& refused) {
      cannot(fmt::format("torchtitan would refuse it: {}", refused.what()));
    }
  }

  const config::Scenario& scenario_;
  const schedules::Schedule* planned_;
  Launch launch_;
  std::map<std::string, std::vector<std::string>> sections_;
};

}  // namespace

Launch write(const config::Scenario& scenario, const schedules::Schedule* planned) {
  return Writer(scenario, planned).all();
}

}  // namespace pipewright::jobs::torchtitan
