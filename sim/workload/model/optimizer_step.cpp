#include "sim/workload/model/optimizer_step.hpp"

#include <algorithm>
#include <cmath>

#include "sim/workload/compute/pass_seconds.hpp"
#include "sim/workload/model/layer_wise.hpp"
#include "sim/workload/model/newton_schulz.hpp"

namespace pipewright::workload {
namespace {

using config::Optimizer;

// Everything that the steps of a device's matrices depend on.
struct Context {
  const config::Training& training;
  const config::Parallel& parallel;
  const config::Communication& communication;
  const config::Gpu& gpu;
  std::uint32_t tp;
  std::uint32_t dense_ranks;
  std::uint32_t expert_ranks;

  std::uint32_t ranks(bool is_expert) const { return is_expert ? expert_ranks : dense_ranks; }
  Group group(bool is_expert) const { return is_expert ? Group::expert_shard : Group::shard; }
  MatrixStep step(const Matrix& matrix) const {
    return matrix_step(matrix, training, matrix.is_expert ? parallel.expert_tp() : tp, gpu);
  }
  // Elements of a bucket of gradients; 0: all gradients are one bucket.
  std::uint64_t bucket() const {
    if (!communication.overlap_grad_reduce) return 0;
    return config::bucket_bytes(communication, parallel.dp.value * parallel.cp.value) /
           communication.gradient_bytes;
  }
  // Seconds that kernels take, or that the host takes to launch them. Each launch is a single
  // operation of PyTorch (newton_schulz_step in emerging_optimizers' muon_utils.py), matrix by
  // matrix.
  double seconds(double kernels, double launches) const {
    return std::max(kernels, launches * training.stack.host.of_operation() * gpu.launch_factor);
  }
};

// Work of one rank among those that shard dense parameters, or experts.
struct RankLoad {
  double seconds = 0;
  double launches = 0;
  double state = 0;  // bytes
  std::vector<const MatrixStep*> steps;

  void add(const MatrixStep& step) {
    seconds += step.seconds;
    launches += step.launches;
    steps.push_back(&step);
  }
};

// Loads of all ranks, of dense matrices and of those of experts.
struct Loads {
  std::vector<RankLoad> dense;
  std::vector<RankLoad> experts;
  // Steps of the matrices by stage and matrix, to which the loads refer.
  std::vector<std::vector<MatrixStep>> steps;

  std::vector<RankLoad>& of(bool is_expert) { return is_expert ? experts : dense; }
};

// Adds a call to a list, or its repetitions to an equal call.
void add_call(const Call& call, std::vector<Call>& calls) {
  const auto equal = std::ranges::find_if(calls, [&](const Call& known) {
    return known.group == call.group && known.collective == call.collective &&
           known.bytes == call.bytes;
  });
  if (equal == calls.end()) {
    calls.push_back(call);
    return;
  }
  equal->times += call.times;
  equal->overlappable_compute += call.overlappable_compute;
}

// Sets the time, the calls and the memory of the rank with most work, and the state of the rank
// with most state. The GPUs of a device are ordered by tp, then by replica, or by etp, ep and copy
// of an expert.
void take_busiest(const Context& context, const Loads& loads, MatrixOptimizer& result) {
  const std::uint32_t expert_cut = context.parallel.expert_tp() * context.parallel.ep.value;
  const std::uint32_t gpus = context.tp * context.dense_ranks;
  const auto of = [](const std::vector<RankLoad>& ranks, std::uint32_t rank) -> const RankLoad& {
    return ranks[std::min<std::size_t>(rank, ranks.size() - 1)];
  };
  const RankLoad* dense = nullptr;
  const RankLoad* experts = nullptr;
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
    const RankLoad& of_dense = of(loads.dense, gpu / context.tp);
    const RankLoad& of_experts = of(loads.experts, gpu / expert_cut);
    const double seconds = context.seconds(of_dense.seconds + of_experts.seconds,
                                           of_dense.launches + of_experts.launches);
    result.state = std::max(result.state, of_dense.state + of_experts.state);
    if (dense != nullptr && seconds <= result.seconds) continue;
    result.seconds = seconds;
    dense = &of_dense;
    experts = &of_experts;
  }
  for (const RankLoad* const load : {dense, experts})
    for (const MatrixStep* const step : load->steps) {
      result.working = std::max(result.working, step->working);
      for (const Call& call : step->calls) add_call(call, result.calls);
    }
}

double state_of_matrix(const Context& context, const Matrix& matrix) {
  return config::matrix_optimizer_bytes(context.training) * static_cast<double>(matrix.elements());
}

// Lays out the matrices of a stage that belong to dense layers or to experts, and returns the
// padding.
std::uint64_t lay_out(const Context& context, const OptimizedStage& stage, bool is_expert,
                      const std::vector<MatrixStep>& steps, std::vector<RankLoad>& ranks,
                      std::uint32_t& buckets) {
  std::vector<MatrixShape> shapes;
  std::vector<std::size_t> matrix_of;
  std::uint64_t elements = 0;
  for (std::size_t i = 0; i < stage.matrices.size(); ++i) {
    const Matrix& matrix = stage.matrices[i];
    if (matrix.is_expert != is_expert) continue;
    shapes.insert(shapes.end(), matrix.count, {matrix.rows, matrix.columns});
    matrix_of.insert(matrix_of.end(), matrix.count, i);
    elements += matrix.count * matrix.elements();
  }
  const LayerWiseLayout layout =
      layer_wise_layout(shapes, context.ranks(is_expert), context.bucket());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    RankLoad& rank = ranks[layout.rank_of[i]];
    rank.add(steps[matrix_of[i]]);
    rank.state += state_of_matrix(context, stage.matrices[matrix_of[i]]);
  }
  if (!is_expert) buckets += layout.buckets;
  return ranks.size() > 1 ? layout.elements - elements : 0;
}

// Gives each rank whole matrices in padded shards; other parameters are sharded by bytes.
void deal_padded(const Context& context, const std::vector<OptimizedStage>& stages, Loads& loads,
                 MatrixOptimizer& result) {
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const OptimizedStage& stage = stages[i];
    StageBuffers& buffers = result.buffers.emplace_back();
    buffers.padding = lay_out(context, stage, false, loads.steps[i], loads.dense, buffers.buckets);
    buffers.expert_padding =
        lay_out(context, stage, true, loads.steps[i], loads.experts, buffers.buckets);
    const Parameters& parameters = stage.parameters;
    const std::uint64_t others = parameters.dense - parameters.matrices;
    const std::uint64_t bucket = context.bucket() > 0 ? context.bucket() : others;
    if (others > 0) buffers.buckets += static_cast<std::uint32_t>((others + bucket - 1) / bucket);
    const double bytes = config::optimizer_bytes(context.training);
    for (RankLoad& rank : loads.dense)
      rank.state += bytes * static_cast<double>(others) / context.dense_ranks;
    for (RankLoad& rank : loads.experts)
      rank.state += bytes * static_cast<double>(parameters.experts - parameters.expert_matrices) /
                    context.expert_ranks;
  }
}

// Deals all matrices, and the embedding and the output layer, to the ranks by their size.
void deal_by_size(const Context& context, const std::vector<OptimizedStage>& stages, Loads& loads) {
  struct Tensor {
    const MatrixStep* step;  // null: updated by Adam
    double state;
  };
  for (const bool is_expert : {false, true}) {
    std::vector<Tensor> tensors;
    std::vector<std::uint64_t> elements;
    std::vector<RankLoad>& ranks = loads.of(is_expert);
    const double bytes = config::optimizer_bytes(context.training);
    double others = 0;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const OptimizedStage& stage = stages[i];
      for (std::size_t j = 0; j < stage.matrices.size(); ++j) {
        const Matrix& matrix = stage.matrices[j];
        if (matrix.is_expert != is_expert) continue;
        tensors.insert(tensors.end(), matrix.count,
                       {&loads.steps[i][j], state_of_matrix(context, matrix)});
        elements.insert(elements.end(), matrix.count, matrix.elements());
      }
      const Parameters& parameters = stage.parameters;
      others += static_cast<double>(is_expert ? parameters.experts - parameters.expert_matrices
                                              : parameters.dense - parameters.matrices -
                                                    parameters.vocabulary);
      if (is_expert || stage.embedding == 0) continue;
      for (std::uint64_t left = parameters.vocabulary; left >= stage.embedding;
           left -= stage.embedding) {
        tensors.push_back({nullptr, bytes * static_cast<double>(stage.embedding)});
        elements.push_back(stage.embedding);
      }
    }
    const std::vector<std::uint32_t> rank_of =
        ping_pong(elements, static_cast<std::uint32_t>(ranks.size()));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      RankLoad& rank = ranks[rank_of[i]];
      rank.state += tensors[i].state;
      if (tensors[i].step != nullptr)
        rank.add(*tensors[i].step);
      else
        rank.seconds +=
            optimizer_seconds(context.training, static_cast<double>(elements[i]), context.gpu);
    }
    for (RankLoad& rank : ranks) rank.state += bytes * others / static_cast<double>(ranks.size());
  }
}

// Shards buckets by bytes. All ranks gather the momentum, and each rank updates every matrix of
// which its shards have a part.
void gather_momentum(const Context& context, const std::vector<OptimizedStage>& stages,
                     Loads& loads, MatrixOptimizer& result) {
  for (const bool is_expert : {false, true}) {
    std::vector<RankLoad>& ranks = loads.of(is_expert);
    const std::uint64_t size = context.bucket();
    std::uint64_t total = 0;
    std::uint32_t buckets = 0;
    const auto close = [&](std::vector<const MatrixStep*>& steps,
                           std::vector<std::uint64_t>& ends) {
      if (ends.empty()) return;
      const std::uint64_t shard = (ends.back() + ranks.size() - 1) / ranks.size();
      std::uint64_t start = 0;
      for (std::size_t i = 0; i < ends.size(); ++i) {
        for (std::uint64_t rank = start / shard; rank <= (ends[i] - 1) / shard; ++rank)
          ranks[rank].add(*steps[i]);
        start = ends[i];
      }
      total += ends.back();
      ++buckets;
      steps.clear();
      ends.clear();
    };
    for (std::size_t i = 0; i < stages.size(); ++i) {
      std::vector<const MatrixStep*> steps;
      std::vector<std::uint64_t> ends;
      for (std::size_t j = stages[i].matrices.size(); j-- > 0;) {
        const Matrix& matrix = stages[i].matrices[j];
        if (matrix.is_expert != is_expert) continue;
        for (std::uint32_t copy = 0; copy < matrix.count; ++copy) {
          steps.push_back(&loads.steps[i][j]);
          ends.push_back((ends.empty() ? 0 : ends.back()) + matrix.elements());
          if (size > 0 && ends.back() >= size) close(steps, ends);
        }
      }
      close(steps, ends);
    }
    if (buckets == 0 || ranks.size() < 2) continue;
    constexpr std::uint64_t element = 2;  // bytes of the gathered momentum
    result.working += static_cast<double>(element * total);
    add_call({.group = context.group(is_expert),
              .collective = Collective::all_gather,
              .bytes = element * total / buckets,
              .times = buckets},
             result.calls);
  }
}

// Returns the matrices that PyTorch's models have instead of one that is stored together.
std::vector<Matrix> separated(const Matrix& matrix) {
  Matrix part = matrix;
  part.fused.clear();
  part.has_gate = false;
  if (matrix.has_gate) {
    part.rows /= 2;
    return {part, part};
  }
  if (matrix.fused.empty()) return {part};
  std::vector<Matrix> parts;
  for (const std::uint64_t rows : matrix.fused) {
    part.rows = rows;
    parts.push_back(part);
  }
  return parts;
}

// Equal matrices of a device. Experts stay where they are if each rank has whole ones.
struct EqualMatrices {
  Matrix matrix;
  bool stays = false;
};

std::vector<EqualMatrices> equal_matrices(const Context& context,
                                          const std::vector<OptimizedStage>& stages) {
  std::vector<EqualMatrices> kinds;
  for (const OptimizedStage& stage : stages)
    for (const Matrix& matrix : stage.matrices)
      for (Matrix& part : separated(matrix)) {
        const std::uint32_t ranks = context.ranks(part.is_expert);
        const bool stays = ranks == 1 || (part.is_expert && part.count >= ranks);
        if (stays) part.count = (part.count + ranks - 1) / ranks;
        const auto equal = std::ranges::find_if(kinds, [&](const EqualMatrices& kind) {
          return kind.matrix.rows == part.rows && kind.matrix.columns == part.columns &&
                 kind.matrix.is_expert == part.is_expert && kind.stays == stays;
        });
        if (equal == kinds.end())
          kinds.push_back({part, stays});
        else
          equal->matrix.count += part.count;
      }
  return kinds;
}

// Gives each rank one matrix of a batch of equal matrices, as many as there are ranks. The
// all-to-alls of a batch run beside the iterations of another.
void gather_matrices(const Context& context, const std::vector<OptimizedStage>& stages,
                     MatrixOptimizer& result) {
  double kernels = 0;
  double launches = 0;
  for (const auto& [matrix, stays] : equal_matrices(context, stages)) {
    const std::uint32_t ranks = stays ? 1 : context.ranks(matrix.is_expert);
    const std::uint32_t batches = (matrix.count + ranks - 1) / ranks;
    const MatrixStep step = context.step(matrix);
    kernels += batches * step.seconds;
    launches += batches * step.launches;
    constexpr double tasks = 3;    // batches that are in work at a time
    constexpr double element = 2;  // bytes of the exchanged momentum
    const double bytes = element * static_cast<double>(matrix.elements());
    result.working = std::max(result.working, step.working + (stays ? 0 : tasks * 3 * bytes));
    if (!stays)
      add_call({.group = context.group(matrix.is_expert),
                .collective = Collective::all_to_all,
                .bytes = static_cast<std::uint64_t>(bytes),
                .times = 2 * batches,
                .overlappable_compute = (batches - 1) * step.seconds},
               result.calls);
  }
  result.seconds = context.seconds(kernels, launches);
}

std::uint32_t whole_ranks(double ranks) {
  return static_cast<std::uint32_t>(std::max(1.0, std::round(ranks)));
}

}  // namespace

bool updates_matrices_apart(const config::Optimizer& optimizer) {
  return optimizer.name == Optimizer::Name::muon || optimizer.name == Optimizer::Name::adafactor;
}

MatrixOptimizer matrix_optimizer(const std::vector<OptimizedStage>& stages,
                                 const config::Training& training, const config::Parallel& parallel,
                                 const config::Communication& communication, std::uint32_t device,
                                 const config::Gpu& gpu) {
  const ZeroGroups zero = zero_groups(parallel, device);
  const bool is_sharded = zero.level > 0;
  MatrixOptimizer result;
  if (training.optimizer.name == Optimizer::Name::adafactor) {
    Parameters sum;
    for (const OptimizedStage& stage : stages) sum += stage.parameters;
    result.seconds = adafactor_seconds(
        updated_parameters({.dense = sum.matrices + sum.vocabulary, .experts = sum.expert_matrices},
                           zero),
        gpu);
    return result;
  }
  const Context context{.training = training,
                        .parallel = parallel,
                        .communication = communication,
                        .gpu = gpu,
                        .tp = parallel.tp_of(device),
                        .dense_ranks = is_sharded ? whole_ranks(zero.dense) : 1,
                        .expert_ranks = is_sharded ? whole_ranks(zero.experts) : 1};
  using Mode = Optimizer::Mode;
  const Mode mode = config::mode_of(training.optimizer, zero.level);
  if (mode == Mode::fsdp && is_sharded) {
    gather_matrices(context, stages, result);
    return result;
  }
  Loads loads{.dense = std::vector<RankLoad>(context.dense_ranks),
              .experts = std::vector<RankLoad>(context.expert_ranks),
              .steps = {}};
  for (const OptimizedStage& stage : stages) {
    std::vector<MatrixStep>& steps = loads.steps.emplace_back();
    for (const Matrix& matrix : stage.matrices) steps.push_back(context.step(matrix));
  }
  const bool is_layer_wise = mode == Mode::layer_wise && is_sharded;
  if (!is_layer_wise)
    gather_momentum(context, stages, loads, result);
  else if (training.optimizer.layout == Optimizer::Layout::padded)
    deal_padded(context, stages, loads, result);
  else
    deal_by_size(context, stages, loads);
  take_busiest(context, loads, result);
  if (!is_layer_wise) result.state = 0;
  return result;
}

}  // namespace pipewright::workload
