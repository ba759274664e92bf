#include "sim/workload/model/model_costs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "sim/config/text/library.hpp"
#include "sim/workload/compute/flops.hpp"
#include "sim/workload/model/allowance.hpp"
#include "sim/workload/model/stage_partition.hpp"
#include "sim/workload/model/state.hpp"
#include "tests/sim/config/support.hpp"
#include "tests/sim/workload/model/support.hpp"

using namespace pipewright;
using namespace pipewright::test;
using schedules::PassKind;
using schedules::Routes;
using workload::StageCosts;

namespace {

constexpr double overhead = 1.2e-3;  // of a pass

struct Job {
  std::string model = "zero-bubble-6.2b";
  std::string training = "{microbatch_size: 3, flash_attention: false, fused_loss: false}";
  Layout layout;
  config::Partition::Rule rule = config::Partition::Rule::ends_less;
  std::uint32_t devices = 8;
  std::string gpu = "a100-80gb";
  std::vector<std::uint32_t> tp_by_device = {};
  config::SoftwareMemory memory = {};
};

// Calls `use` with an execution job that refers to objects on the stack, so it is valid only during
// the call.
template <class Use>
auto with(const Job& job, const Use& use) {
  const config::Model model = library_model(job.model);
  config::Training training = training_of(job.training);
  training.stack.host = {.kernel = 205e-6, .collective = 205e-6, .pass = overhead};
  training.stack.memory = job.memory;
  config::Parallel parallel = parallel_of(job.layout);
  parallel.pp.value = job.devices;
  for (const std::uint32_t tp : job.tp_by_device) parallel.tp_by_device.push_back({tp, {}});
  if (!job.tp_by_device.empty()) parallel.tp.value = std::ranges::max(job.tp_by_device);
  const config::Partition partition{job.rule, {}, {}};
  const std::vector<config::Gpu> gpus(job.devices, config::find_gpu(job.gpu));
  return use(workload::ModelJob{model, training, parallel, partition, gpus});
}

StageCosts costs(const Job& job, const Routes& routes, std::uint32_t slices = 1) {
  return with(job, [&](const workload::ModelJob& j) { return model_costs(j, routes, slices); });
}

const std::vector<double>& times(const StageCosts& costs, PassKind kind) {
  return costs.times.of_stage[static_cast<std::size_t>(kind)];
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

std::uint64_t state(const workload::DeviceState& s) {
  return s.weights + s.gradients + s.optimizer;
}

}  // namespace

TEST_CASE("model_costs sets every member", "[model]") {
  const StageCosts c = costs({.layout = {.tp = 4, .dp = 2, .zero = 3}}, Routes::looped(8, 2));
  for (std::size_t kind = 0; kind < schedules::pass_kinds; ++kind) {
    // S and T never run without a split vocabulary.
    const bool runs = !schedules::is_of_vocabulary(static_cast<PassKind>(kind));
    CHECK(c.times.of_stage[kind].size() == (runs ? 16 : 0));
  }
  CHECK(c.activations.size() == 16);
  CHECK(c.traffic.size() == 16);
  CHECK(c.gathered.size() == 16);
  CHECK(c.state.size() == 8);
  CHECK(c.optimizer_seconds.size() == 8);
  CHECK(c.peak_flops == Approx(312e12));
  CHECK(c.boundary_bytes == 2ULL * 3 * 1024 * 4096 / 4);
  CHECK(c.activations.back().logits == 4ULL * 3 * 1024 * 32256 / 4);
  CHECK(c.activations.front().logits == 0);
  CHECK(c.gathered[1] == 2 * c.traffic[1].parameters);
  CHECK(c.traffic.front().embedding_parameters == 32256ULL / 4 * 4096);
  CHECK(c.traffic[1].embedding_parameters == 0);
}

TEST_CASE("every model has plausible costs on every GPU of the library", "[model]") {
  for (const std::string& gpu : config::library_names("gpus", ".yaml"))
    for (const std::string& model : config::library_names("models", ".yaml")) {
      INFO(model << " on " << gpu);
      const std::uint32_t tp = model == "mamba-2-2.7b" ? 1 : 2;  // its heads form one group
      const StageCosts c = costs({.model = model,
                                  .training = "{}",
                                  .layout = {.tp = tp, .sequence = tp > 1, .dp = 2, .zero = 1},
                                  .rule = config::Partition::Rule::even,
                                  .devices = 2,
                                  .gpu = gpu},
                                 Routes::looped(2, 1));
      for (const PassKind kind : {PassKind::forward, PassKind::input_grad, PassKind::weight_grad,
                                  PassKind::backward, PassKind::recompute})
        for (const double seconds : c.times[kind]) REQUIRE((seconds > 1e-3 && seconds < 1e3));
      // Modelled compute takes longer than its FLOPs at the peak rate.
      REQUIRE(c.model_flops_per_microbatch / tp / c.peak_flops <
              sum(times(c, PassKind::forward)) + sum(times(c, PassKind::backward)));
      for (const auto& device : c.state) REQUIRE(state(device) > 0);
    }
}

TEST_CASE("costs of chunks add up to those of the device", "[model]") {
  const Job job{.model = "megatron-7.5b", .rule = config::Partition::Rule::even, .devices = 4};
  const StageCosts whole = costs(job, Routes::looped(4, 1));
  const StageCosts cut = costs(job, Routes::looped(4, 9));
  for (const PassKind kind : {PassKind::forward, PassKind::input_grad, PassKind::weight_grad})
    CHECK(sum(times(cut, kind)) - 36 * overhead == Approx(sum(times(whole, kind)) - 4 * overhead));
  std::uint64_t held = 0;
  std::uint64_t held_cut = 0;
  for (const auto& stage : whole.activations) held += stage.held;
  for (const auto& stage : cut.activations) held_cut += stage.held;
  CHECK(held == held_cut);
  for (std::uint32_t device = 1; device < 3; ++device)
    CHECK(state(whole.state[device]) == state(cut.state[device]));
}

TEST_CASE("B takes as long as I and W, with one overhead less", "[model]") {
  const StageCosts c = costs({}, Routes::looped(8, 1));
  for (std::size_t stage = 0; stage < 8; ++stage)
    CHECK(times(c, PassKind::backward)[stage] ==
          Approx(times(c, PassKind::input_grad)[stage] + times(c, PassKind::weight_grad)[stage] -
                 overhead));
}

TEST_CASE("both devices of a stage hold its state", "[model]") {
  const Routes both_routes({{0, 1, 2, 3}, {3, 2, 1, 0}});
  const Job job{.model = "llama-3-8b", .rule = config::Partition::Rule::even, .devices = 4};
  const StageCosts single = costs(job, Routes::looped(4, 1));
  const StageCosts dual = costs(job, both_routes);
  CHECK(state(dual.state[0]) == state(single.state[0]) + state(single.state[3]));
  CHECK(state(dual.state[1]) == state(single.state[1]) + state(single.state[2]));
}

TEST_CASE("a tied head on the device of its embedding needs no copy", "[model]") {
  const StageCosts v = costs({.rule = config::Partition::Rule::even}, Routes::v_shape(8));
  CHECK(v.traffic.front().embedding_parameters == 0);
  CHECK(v.traffic.back().embedding_parameters == 0);
  const StageCosts line = costs({.rule = config::Partition::Rule::even}, Routes::looped(8, 2));
  CHECK(line.traffic.back().parameters - v.traffic.back().parameters ==
        line.traffic.back().embedding_parameters);
}

TEST_CASE("with routes in opposite directions, both ends have embedding and head", "[model]") {
  const Routes both_routes({{0, 1, 2, 3}, {3, 2, 1, 0}});
  const Job job{.rule = config::Partition::Rule::even, .devices = 4};
  const StageCosts dual = costs(job, both_routes);
  const StageCosts line = costs(job, Routes::looped(4, 1));
  const std::uint64_t matrix = line.traffic.back().embedding_parameters;
  REQUIRE(matrix > 0);
  CHECK(dual.traffic.front().embedding_parameters == 0);
  CHECK(dual.traffic.back().embedding_parameters == 0);
  for (const std::uint32_t end : {0U, 3U})
    CHECK(state(dual.state[end]) == state(line.state[0]) + state(line.state[3]) - 18 * matrix);
}

TEST_CASE("only sequence parallelism divides the input that a recomputing stage keeps", "[model]") {
  const std::uint64_t whole = 2ULL * 3 * 1024 * 4096;
  CHECK(costs({.layout = {.tp = 4}}, Routes::looped(8, 1)).input_bytes.front() == whole);
  CHECK(costs({.layout = {.tp = 4, .sequence = true}}, Routes::looped(8, 1)).input_bytes.front() ==
        whole / 4);
  CHECK(costs({.layout = {.tp = 4}}, Routes::looped(8, 1), 2).input_bytes.front() == whole / 2);
}

TEST_CASE("gradients that are not sharded yet count as buffers of a device", "[model]") {
  const auto buffers = [](std::uint32_t zero) {
    return costs({.layout = {.dp = 2, .zero = zero}}, Routes::looped(8, 2)).state[1].buffers;
  };
  const StageCosts c = costs({.layout = {.dp = 2, .zero = 2}}, Routes::looped(8, 2));
  CHECK(buffers(0) == buffers(1));
  const auto parts = workload::gradient_parts(c.traffic[1].parameters, {}, 2);
  CHECK(parts > 2);
  CHECK(buffers(2) - buffers(1) == 2 * (4 * c.traffic[1].parameters / parts));
  CHECK(buffers(3) == buffers(2));
}

TEST_CASE("the workspace of the stack counts as a buffer of each device", "[model]") {
  const auto buffers = [](std::uint64_t workspace) {
    return costs({.gpu = "h100-sxm", .memory = {.workspace = workspace}}, Routes::looped(8, 1))
        .state[3]
        .buffers;
  };
  CHECK(buffers(64 << 20) - buffers(0) == 64 << 20);
}

TEST_CASE("a loss in chunks leaves no logits and computes all its gradients in F", "[model]") {
  const auto head = [](const std::string& chunks) {
    const Job job{.model = "llama-3-8b",
                  .training = "{sequence: 1024, recompute: full, loss_chunks: " + chunks + "}",
                  .rule = config::Partition::Rule::even,
                  .devices = 2,
                  .gpu = "h100-sxm"};
    return costs(job, Routes::looped(2, 1));
  };
  const StageCosts whole = head("1");
  const StageCosts chunked = head("8");
  CHECK(whole.activations[1].logits == 2ULL * 1024 * 128'256);
  CHECK(chunked.activations[1].logits == 0);
  CHECK(chunked.activations[1].held == whole.activations[1].held);
  // The gradients of 2 bytes for W are gone, both of the logits and of the norm's result.
  CHECK(chunked.activations[1].made_by_input_grad + 2ULL * 1024 * (128'256 + 4096) ==
        whole.activations[1].made_by_input_grad);
  CHECK(chunked.activations[0] == whole.activations[0]);
  CHECK(chunked.hardware_flops_per_microbatch == whole.hardware_flops_per_microbatch);
  CHECK(times(chunked, PassKind::forward)[1] > times(whole, PassKind::forward)[1]);
  CHECK(times(chunked, PassKind::backward)[1] < times(whole, PassKind::backward)[1]);
  CHECK(times(chunked, PassKind::forward)[0] == times(whole, PassKind::forward)[0]);
}

TEST_CASE("slices of a microbatch share its costs", "[model]") {
  const StageCosts whole = costs({.layout = {.tp = 2}}, Routes::looped(8, 1));
  const StageCosts cut = costs({.layout = {.tp = 2}}, Routes::looped(8, 1), 4);
  // Every slice of a microbatch has as many launches as the whole, so waits for the host are
  // subtracted.
  const auto kernels = [&](const StageCosts& c) {
    return times(c, PassKind::forward)[2] - c.of(c.host_waits, {PassKind::forward, 2}) - overhead;
  };
  CHECK(4 * kernels(cut) == Approx(kernels(whole)));
  CHECK(cut.boundary_bytes * 4 == whole.boundary_bytes);
  const std::uint64_t workspace = config::SoftwareMemory{}.workspace / 5;  // of an A100
  CHECK((cut.state[2].buffers - workspace) * 4 == whole.state[2].buffers - workspace);
  CHECK(cut.activations[2].held * 4 == whole.activations[2].held);
  CHECK(cut.traffic[2].inside[0][0].bytes * 4 == whole.traffic[2].inside[0][0].bytes);
  CHECK(cut.model_flops_per_microbatch == whole.model_flops_per_microbatch);
}

TEST_CASE("workspaces of experts' products add to those of others, and are smaller without FP8",
          "[model]") {
  const auto buffers = [](const std::string& gpu, std::uint64_t workspace,
                          std::uint64_t expert_workspace) {
    return costs({.model = "mixtral-8x7b",
                  .training = "{}",
                  .rule = config::Partition::Rule::even,
                  .devices = 1,
                  .gpu = gpu,
                  .memory = {.workspace = workspace, .expert_workspace = expert_workspace}},
                 Routes::looped(1, 1))
        .state[0]
        .buffers;
  };
  for (const auto& [gpu, part] : {std::pair{"h100-sxm", 1U}, std::pair{"a100-80gb", 5U}}) {
    INFO(gpu);
    CHECK(buffers(gpu, 5000, 0) - buffers(gpu, 0, 0) == 5000 / part);
    CHECK(buffers(gpu, 0, 5000) - buffers(gpu, 0, 0) == 5000 / part);
  }
}

TEST_CASE("I leaves the inputs of W, which full recomputation has to recompute", "[model]") {
  const double sbh = 3.0 * 1024 * 4096;
  const auto none = costs({}, Routes::looped(8, 1)).activations[1];
  CHECK(static_cast<double>(none.held - none.released_by_input_grad) == Approx(4 * 32 * sbh));
  CHECK(none.made_by_input_grad == 0);
  const auto full =
      costs({.training = "{microbatch_size: 3, recompute: full}"}, Routes::looped(8, 1))
          .activations[1];
  CHECK(static_cast<double>(full.held) == Approx(4 * 2 * sbh));
  CHECK(full.released_by_input_grad == 0);
  CHECK(static_cast<double>(full.held + full.made_by_input_grad) == Approx(4 * 32 * sbh));
}

TEST_CASE("hardware FLOPs include recomputation", "[model]") {
  const auto flops = [](const std::string& recompute, const std::string& flash) {
    return costs({.training = "{recompute: " + recompute + ", flash_attention: " + flash + "}"},
                 Routes::looped(8, 1));
  };
  const StageCosts none = flops("none", "false");
  CHECK(none.hardware_flops_per_microbatch == none.model_flops_per_microbatch);
  const config::Model model = library_model("zero-bubble-6.2b");
  const double forward = workload::forward_flops(model, 1, 1024);
  CHECK(none.model_flops_per_microbatch == Approx(3 * forward));
  CHECK(none.full_attention_flops_per_microbatch ==
        Approx(3 * (forward + workload::score_flops(model, 1, 1024))));
  // Recomputing stored scores computes them for all pairs of queries and keys, of which only half
  // count as model FLOPs.
  const double scores = workload::score_flops(model, 1, 1024);
  CHECK(flops("full", "false").hardware_flops_per_microbatch ==
        Approx(4 * forward - workload::head_flops(model, 1, 1024) + scores));
  CHECK(flops("selective", "false").hardware_flops_per_microbatch ==
        Approx(3 * forward + 2 * scores));
  // Flash attention stores no scores. Recomputing it computes only those of the lower triangle.
  CHECK(flops("selective", "true").hardware_flops_per_microbatch == Approx(3 * forward + scores));
}

TEST_CASE("forward FLOPs of the stages add up to those of the model", "[model]") {
  for (const char* const name : {"zero-bubble-6.2b", "llama-3-8b", "deepseek-v3"}) {
    INFO(name);
    const StageCosts c =
        costs({.model = name, .training = "{}", .rule = config::Partition::Rule::by_cost},
              Routes::looped(8, 2));
    REQUIRE(c.forward_flops.size() == 16);
    CHECK(3 * sum(c.forward_flops) == Approx(c.model_flops_per_microbatch));
    CHECK(*std::min_element(c.forward_flops.begin(), c.forward_flops.end()) > 0);
  }
}

TEST_CASE("the host copies gathered weights tensor by tensor and rank by rank", "[model]") {
  const schedules::Schedule schedule =
      schedules::make_schedule("1f1b", {.devices = 8, .microbatches = 16});
  const auto step = [&](const Layout& layout, config::ZeroWeights weights) {
    return with({.layout = layout}, [&](workload::ModelJob job) {
      job.communication.zero_weights = weights;
      return model_costs(job, schedule.routes, schedule.slices).optimizer_seconds[1];
    });
  };
  const auto added = [&](const Layout& layout) {
    return step(layout, config::ZeroWeights::all_gather_copies) -
           step(layout, config::ZeroWeights::all_gather);
  };
  // Device 1 has 4 layers with ten tensors each. Each of the 16 ranks has two copies more, which
  // pack and unpack. A launch takes 205 us.
  CHECK(added({.dp = 16, .zero = 1}) == Approx(16 * (4 * 10 + 2) * 205e-6));
  CHECK(added({.dp = 32, .zero = 2, .replicate = 2}) == Approx(16 * (4 * 10 + 2) * 205e-6));
  CHECK(added({.dp = 16, .zero = 0}) == 0);
  CHECK(added({.dp = 16, .zero = 3}) == 0);
  CHECK(added({.dp = 1, .zero = 1}) == 0);
}

TEST_CASE("fragmentation is a share of the peak activations in flight", "[model]") {
  const std::string plain = "{reserved: 1 GB, fragmentation: 0}";
  const std::string fragmented = "{reserved: 1 GB, fragmentation: 10 %}";
  const schedules::Schedule schedule =
      schedules::make_schedule("1f1b", {.devices = 8, .microbatches = 16});
  const auto allowance = [&](const std::string& training, std::uint32_t device) {
    return with({.training = training}, [&](const workload::ModelJob& job) {
      StageCosts c = model_costs(job, schedule.routes, schedule.slices);
      add_allowance(job.training, schedule, c);
      return std::pair{c.state[device].allowance, c.activations[device].held};
    });
  };
  CHECK(allowance(plain, 1).first == 1'000'000'000);
  const auto [bytes, held] = allowance(fragmented, 1);
  CHECK(static_cast<double>(bytes) == Approx(1e9 + 0.1 * 7 * static_cast<double>(held)));
}

TEST_CASE("CUDA graphs take memory for each of their kernels", "[model]") {
  const schedules::Schedule schedule =
      schedules::make_schedule("1f1b", {.devices = 8, .microbatches = 16});
  const auto graphs = [&](const std::string& kind, std::uint32_t device,
                          std::uint64_t bytes_of_kernel = 20'000) {
    const std::string training = "{reserved: 1 GB, fragmentation: 0, cuda_graphs: " + kind + "}";
    const Job graph_job{.training = training, .memory = {.graph_kernel = bytes_of_kernel}};
    return with(graph_job, [&](const workload::ModelJob& job) {
      StageCosts c = model_costs(job, schedule.routes, schedule.slices);
      add_allowance(job.training, schedule, c);
      return std::pair{c.state[device].allowance - 1'000'000'000, c.captured[device]};
    });
  };
  CHECK(graphs("none", 1).first == 0);
  const auto [layer_graphs, launches] = graphs("layer", 1);
  CHECK(launches > 4 * 20);  // four layers
  // The second of eight devices has 7 microbatches in flight, and every one needs graphs of its
  // own.
  CHECK(layer_graphs == 7 * launches * 20'000);
  CHECK(graphs("iteration", 1).first == 16 * launches * 20'000);
  CHECK(graphs("layer", 1, 64'000).first == 7 * launches * 64'000);
  // Graphs of modules hold only the kernels of these modules.
  const auto [attention_graphs, captured] = graphs("[attn]", 1);
  CHECK(attention_graphs == 7 * captured * 20'000);
  CHECK(captured > 0);
  CHECK(captured + graphs("[mlp]", 1).second == launches);
}

TEST_CASE("in a partition by cost, no stage takes longer than in another partition", "[model]") {
  for (const char* const name : {"llama-3-8b", "deepseek-v3", "zero-bubble-6.2b"}) {
    const auto longest = [&](config::Partition::Rule rule) {
      const StageCosts c =
          costs({.model = name, .training = "{}", .rule = rule}, Routes::looped(8, 1));
      double longest_stage = 0;
      for (std::size_t stage = 0; stage < 8; ++stage)
        longest_stage = std::max(longest_stage, times(c, PassKind::forward)[stage] +
                                                    times(c, PassKind::backward)[stage]);
      return longest_stage;
    };
    INFO(name);
    CHECK(longest(config::Partition::Rule::by_cost) <=
          longest(config::Partition::Rule::even) * (1 + 1e-9));
  }
}

TEST_CASE("a faster GPU gets more layers by cost", "[model]") {
  const config::Model model = library_model("llama-3-8b");
  const config::Training training = training_of("{}");
  const config::Parallel parallel = parallel_of({});
  const config::Partition partition{config::Partition::Rule::by_cost, {}, {}};
  std::vector<config::Gpu> gpus(4, config::find_gpu("a100-80gb"));
  gpus[2] = config::find_gpu("h100-sxm");
  const auto stages =
      workload::model_partition({model, training, parallel, partition, gpus}, Routes::looped(4, 1));
  CHECK(stages[2].layers.count > stages[1].layers.count + 3);
}

TEST_CASE("peak memory of 1F1B is within 6 % of measurements", "[model]") {
  // Peak memory of the 1F1B rows in arXiv 2401.10241, table 4, whose GB are read as GiB.
  struct Row {
    const char* model;
    std::uint32_t devices;
    std::uint32_t microbatch;
    double peak;
  };
  for (const Row& row :
       {Row{"zero-bubble-1.5b", 8, 6, 30}, Row{"zero-bubble-6.2b", 8, 3, 39},
        Row{"zero-bubble-14.6b", 16, 1, 32}, Row{"zero-bubble-28.3b", 32, 1, 43}}) {
    const StageCosts c =
        costs({.model = row.model,
               .training = "{flash_attention: false, fused_loss: false, microbatch_size: " +
                           std::to_string(row.microbatch) + "}",
               .devices = row.devices},
              Routes::looped(row.devices, 1));
    double peak = 0;
    for (std::uint32_t device = 0; device < row.devices; ++device) {
      const auto& stage = c.activations[device];
      const auto in_flight = static_cast<double>(row.devices - device);
      peak =
          std::max(peak, in_flight * static_cast<double>(stage.held) +
                             static_cast<double>(stage.logits + stage.working +
                                                 state(c.state[device]) + c.state[device].buffers));
    }
    INFO(row.model);
    CHECK(peak / 1073741824.0 == Approx(row.peak).epsilon(0.06));
  }
}

TEST_CASE("a layout that does not fit is rejected", "[model]") {
  CHECK_THAT(config::test::error_of([] { costs({.layout = {.tp = 3}}, Routes::looped(8, 1)); }),
             Catch::Contains("parallel.tp is 3"));
  CHECK_THAT(config::test::error_of([] { costs({.model = "llama-3-8b"}, Routes::looped(8, 1)); }),
             Catch::Contains("partition ends_less needs"));
}

// Layers are divided evenly, because a partition by cost would differ between the two jobs.
TEST_CASE("a stage on a device with its own tp costs the same as with that tp on all devices",
          "[model]") {
  const std::vector<std::uint32_t> tp{4, 1, 2, 4};
  for (const std::string model : {"zero-bubble-6.2b", "mixtral-8x7b"})
    for (const std::uint32_t zero : {0U, 1U, 3U}) {
      Job job{.model = model,
              .training = "{cuda_graphs: [attn]}",
              .layout = {.sequence = true, .cp = 2, .ep = 2, .dp = 2, .zero = zero},
              .rule = config::Partition::Rule::even,
              .devices = 4,
              .tp_by_device = tp};
      if (model == "zero-bubble-6.2b") job.layout.ep = 1;
      const Routes routes = Routes::looped(4, 2);
      const StageCosts uneven = costs(job, routes);
      CAPTURE(model, zero);
      for (std::uint32_t device = 0; device < 4; ++device) {
        Job uniform_job = job;
        uniform_job.tp_by_device.clear();
        uniform_job.layout.tp = tp[device];
        const StageCosts uniform = costs(uniform_job, routes);
        CHECK(uneven.state[device] == uniform.state[device]);
        CHECK(uneven.optimizer_seconds[device] == uniform.optimizer_seconds[device]);
        for (const std::uint32_t stage : {device, device + 4}) {
          CAPTURE(stage);
          for (const auto kind : {PassKind::forward, PassKind::input_grad, PassKind::weight_grad})
            CHECK(times(uneven, kind)[stage] == times(uniform, kind)[stage]);
          CHECK(uneven.activations[stage] == uniform.activations[stage]);
          CHECK(uneven.input_bytes[stage] == uniform.input_bytes[stage]);
          CHECK(uneven.traffic[stage].inside == uniform.traffic[stage].inside);
          CHECK(uneven.traffic[stage].parameters == uniform.traffic[stage].parameters);
          CHECK(uneven.gathered[stage] == uniform.gathered[stage]);
          CHECK(uneven.captured[stage] == uniform.captured[stage]);
          CHECK(uneven.overlap_slowdown[0][stage] == uniform.overlap_slowdown[0][stage]);
        }
        CHECK(uneven.model_flops_per_microbatch == uniform.model_flops_per_microbatch);
        if (tp[device] == 4) CHECK(uneven.boundary_bytes == uniform.boundary_bytes);
      }
    }
}

TEST_CASE("a partition by cost gives a device with more GPUs more layers", "[model]") {
  const auto layers_of = [](const std::vector<std::uint32_t>& tp) {
    const Job job{.model = "llama-3-70b",
                  .training = "{}",
                  .layout = {.sequence = true},
                  .rule = config::Partition::Rule::by_cost,
                  .devices = 2,
                  .tp_by_device = tp};
    std::vector<std::uint32_t> layers;
    with(job, [&](const workload::ModelJob& j) {
      for (const auto& stage : model_partition(j, Routes::looped(2, 1)))
        layers.push_back(stage.layers.count);
    });
    return layers;
  };
  CHECK(layers_of({4, 2})[0] > 1.5 * layers_of({4, 2})[1]);
  CHECK(layers_of({2, 4})[1] > 1.5 * layers_of({2, 4})[0]);
}
