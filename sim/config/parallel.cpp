#include "sim/config/parallel.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/enum_names.hpp"
#include "sim/config/keys.hpp"

namespace pipewright::config {
namespace {

constexpr std::array<std::string_view, axes> axis_names{"tp", "cp", "ep", "dp", "pp"};

constexpr std::array<std::string_view, 4> zero_levels{"0", "1", "2", "3"};

Error wrong_order(const Field& field, std::string_view fault) {
  return Error(field.value.origin,
               fmt::format("{} is {}: {}", field.name, describe(field.value), fault))
      .allow(
          "tp, cp, ep, dp and pp, each once, innermost axis first, "
          "such as tp-cp-ep-dp-pp");
}

// Reads an order of the axes of parallelism, such as "tp-dp-pp". Axes of size 1 may be left out;
// they are put at the end.
std::array<Axis, axes> read_order(const Field& field, const Parallel& parallel) {
  std::string_view text = read_text(field, "an order of the axes, such as tp-cp-ep-dp-pp");
  std::vector<Axis> order;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find('-'));
    text.remove_prefix(std::min(name.size() + 1, text.size()));
    const std::optional<Axis> axis = base::value_of<Axis>(axis_names, name);
    if (!axis) throw wrong_order(field, fmt::format("{} is no axis", in_quotes(name)));
    if (std::ranges::find(order, *axis) != order.end())
      throw wrong_order(field, fmt::format("{} is there twice", name));
    order.push_back(*axis);
  }
  const std::uint32_t dp = std::max(parallel.dp.value, parallel.shard ? parallel.shard->value : 1) *
                           parallel.replicates();
  const std::array sizes{parallel.tp.value, parallel.cp.value, parallel.ep.value, dp};
  for (std::size_t i = 0; i < axis_names.size(); ++i) {
    if (std::ranges::find(order, static_cast<Axis>(i)) != order.end()) continue;
    if (i == sizes.size()) throw wrong_order(field, "pp is left out");
    if (sizes[i] > 1)
      throw wrong_order(field, fmt::format("{} is {} and left out", axis_names[i], sizes[i]));
    order.push_back(static_cast<Axis>(i));
  }
  std::array<Axis, axes> result{};
  std::ranges::copy(order, result.begin());
  return result;
}

std::vector<Located<std::uint32_t>> read_cp_sizes(const Field& field) {
  constexpr std::string_view allowed = "two sizes whose product is cp, such as [8, 2]";
  std::vector<Located<std::uint32_t>> sizes;
  for (const Field& item : items(field, allowed))
    sizes.push_back({read_count(item, "8"), item.value.origin});
  if (sizes.size() != 2) throw wrong(field, allowed);
  return sizes;
}

// Reads a list with a number for each device of the pipeline.
std::vector<Located<std::uint32_t>> read_by_device(const Field& field, std::string_view allowed) {
  if (field.value.kind != Value::Kind::list || field.value.items.empty())
    throw wrong(field, allowed);
  std::vector<Located<std::uint32_t>> numbers;
  for (const Field& item : items(field, allowed))
    numbers.push_back({read_count(item, "8"), item.value.origin});
  return numbers;
}

std::vector<Located<std::uint32_t>> read_tp_by_device(const Field& field) {
  return read_by_device(field, "a tp for each device of the pipeline, such as [8, 8, 4, 4]");
}

UnshardLookahead read_unshard_lookahead(const Field& field) {
  if (field.value.kind == Value::Kind::list)
    return {.by_device = read_by_device(
                field, "a number of stages for each device of the pipeline, such as [2, 3, 4, 4]")};
  return {.rule = static_cast<UnshardRule>(read_choice(field, unshard_rule_names)),
          .by_device = {}};
}

void settle_tp(const Field& field, bool has_tp, Parallel& parallel) {
  if (parallel.tp_by_device.empty()) return;
  if (has_tp)
    throw Error(find(field.value, "tp_by_device")->origin,
                fmt::format("parallel.tp_by_device is given, and so is parallel.tp ({})",
                            parallel.tp.value))
        .suggest("leave out one of them");
  parallel.tp =
      *std::ranges::max_element(parallel.tp_by_device, {}, &Located<std::uint32_t>::value);
}

// Checks the keys of hierarchical context parallelism by the rule of Megatron-LM: cp_comm_type
// a2a+p2p needs the sizes, and nothing else may have them.
void check_cp_sizes(const Field& field, const Parallel& parallel) {
  constexpr std::string_view key = "hierarchical_context_parallel_sizes";
  const bool is_hierarchical = parallel.cp_comm == ContextComm::a2a_p2p;
  if (is_hierarchical == !parallel.cp_sizes.empty() || (is_hierarchical && parallel.cp.value == 1))
    return;
  const Entry& entry = *std::ranges::find(
      field.value.entries, is_hierarchical ? std::string_view("cp_comm_type") : key, &Entry::key);
  if (is_hierarchical)
    throw Error(entry.value.origin,
                fmt::format("parallel.cp_comm_type a2a+p2p needs parallel.{}", key))
        .suggest("give two sizes whose product is cp, such as [8, 2]");
  throw Error(entry.value.origin,
              fmt::format("parallel.{} needs cp_comm_type a2a+p2p, which is {}", key,
                          base::name_of(context_comm_names, parallel.cp_comm)))
      .suggest("leave it out");
}

// Computes the missing one of shard, replicate and dp from the other two.
void settle_shards(bool has_dp, bool has_zero, Parallel& parallel) {
  const Origin origin = parallel.shard ? parallel.shard->origin : parallel.replicate->origin;
  const std::uint32_t replicate = parallel.replicates();
  if (!parallel.shard) {
    const std::uint32_t dp = has_dp ? parallel.dp.value : replicate;
    if (dp % replicate != 0)
      throw Error(origin,
                  fmt::format("parallel.replicate is {}, which does not divide parallel.dp ({})",
                              replicate, dp))
          .allow("a divisor of dp");
    parallel.shard = {dp / replicate, origin};
  } else if (!parallel.replicate && has_dp && parallel.dp.value % parallel.shard->value == 0) {
    parallel.replicate = {parallel.dp.value / parallel.shard->value, origin};
  }
  if (!parallel.replicate) parallel.replicate = {1, origin};
  const std::uint64_t dp = std::uint64_t{parallel.shard->value} * parallel.replicate->value;
  if (has_dp && parallel.dp.value != dp)
    throw Error(origin,
                fmt::format("parallel.shard x parallel.replicate is {} x {}, and parallel.dp is {}",
                            parallel.shard->value, parallel.replicate->value, parallel.dp.value))
        .allow(fmt::format("dp {}, or leave it out", dp));
  if (!has_dp) parallel.dp = {static_cast<std::uint32_t>(dp), origin};
  const bool is_sharded = parallel.shard->value > 1;
  if (!has_zero) parallel.zero = is_sharded || parallel.cp.value > 1 ? 3 : 0;
  if (parallel.zero == 0 && is_sharded)
    throw Error(origin, fmt::format("parallel.shard is {}, and parallel.zero 0 shards nothing",
                                    parallel.shard->value))
        .allow("zero 1 to 3, or leave it out for 3");
}

// Sets what generalized tensor parallelism means for data parallelism: gtp ranks shard the weights,
// and the copies of a shard are dp / gtp.
void settle_gtp(const Field& field, bool has_dp, bool has_zero, Parallel& parallel) {
  const auto refuse = [&](std::string_view key, const std::string& fault,
                          std::string_view allowed) {
    throw Error(find(field.value, key)->origin, fault).allow(std::string(allowed));
  };
  if (!parallel.gtp) parallel.gtp = {1, parallel.expert_gtp->origin};
  if (!parallel.expert_gtp) parallel.expert_gtp = {1, parallel.gtp->origin};
  if (parallel.gtp->value == 1 && parallel.expert_gtp->value == 1) {
    // All ranks of dp have whole weights. Dividing the optimizer state among them is ZeRO-1.
    parallel.gtp.reset();
    parallel.expert_gtp.reset();
    if (has_zero || !parallel.shards_optimizer_over_copies()) return;
    parallel.zero = 1;
    parallel.outer_sharding = OuterSharding::none;
    return;
  }
  for (const std::string_view key :
       {"shard", "dp_shard", "replicate", "dp_replicate", "reshard_after_forward",
        "max_unsharded_stages", "unshard_lookahead", "gather_ahead"})
    if (find(field.value, key) != nullptr)
      refuse(
          key,
          fmt::format("parallel.{} is for FSDP, and parallel.gtp is {}", key, parallel.gtp->value),
          "only one of the two keys");
  if (has_zero && parallel.zero != 3)
    refuse("zero",
           fmt::format("parallel.zero is {}, and parallel.gtp shards weights", parallel.zero),
           "zero 3, or leave it out; outer_sharding optimizer for the distributed optimizer");
  if (parallel.cp.value > 1)
    throw Error(parallel.cp.origin,
                fmt::format("parallel.cp is {}, and parallel.gtp is not modelled with context "
                            "parallelism",
                            parallel.cp.value))
        .allow("cp 1");
  if (std::ranges::find(parallel.order, Axis::pp) < std::ranges::find(parallel.order, Axis::dp))
    refuse("order", "parallel.order has pp before dp, and the ranks of gtp follow those of tp",
           "dp before pp");
  const std::uint32_t gtp = parallel.gtp->value;
  if (!has_dp) parallel.dp = *parallel.gtp;
  if (parallel.dp.value % gtp != 0)
    throw Error(parallel.gtp->origin,
                fmt::format("parallel.gtp is {}, which does not divide parallel.dp ({})", gtp,
                            parallel.dp.value))
        .allow("a divisor of dp");
  parallel.zero = 3;
  parallel.shard = parallel.gtp;
  parallel.replicate = {parallel.dp.value / gtp, parallel.gtp->origin};
  parallel.reshard_after_forward = true;
}

// Checks that ZeRO-3 keeps weights gathered in pipelines if the number of gathered stages is given.
void check_unsharded_stages(const Field& field, const Parallel& parallel) {
  for (const std::string_view key : {"max_unsharded_stages", "unshard_lookahead"}) {
    const Value* const setting = find(field.value, key);
    if (setting == nullptr) continue;
    const auto refuse = [&](const std::string& reason, std::string_view allowed) {
      throw Error(setting->origin,
                  fmt::format("parallel.{} is for weights that stay gathered from pass to pass, "
                              "and {}",
                              key, reason))
          .allow(fmt::format("{}, or leave it out", allowed));
    };
    if (parallel.zero != 3) refuse(fmt::format("parallel.zero is {}", parallel.zero), "zero 3");
    if (parallel.reshard_after_forward.value_or(!parallel.shard))
      refuse("parallel.reshard_after_forward is true", "reshard_after_forward false");
  }
}

// Checks the keys of ZeRO-3 that gathers weights for each pass.
void check_gathers(const Field& field, const Parallel& parallel) {
  for (const std::string_view key : {"outer_sharding", "gather_ahead"}) {
    const Value* const setting = find(field.value, key);
    if (setting == nullptr || parallel.zero == 3) continue;
    if (key == "outer_sharding" && !parallel.shards_optimizer_over_copies()) continue;
    throw Error(setting->origin,
                fmt::format("parallel.{} is for sharded weights, and parallel.zero "
                            "is {}",
                            key, parallel.zero))
        .allow("zero 3, or leave it out");
  }
}

// The key `order` is read after the sizes of the axes, since checking it needs them.
constexpr std::array parallel_table{
    Key<Parallel>{{.name = "tp",
                   .alias = "tensor",
                   .flag = "--tp",
                   .help = "tensor parallelism: number of GPUs that share each layer",
                   .default_value = "1"},
                  count<&Parallel::tp>},
    Key<Parallel>{
        {.name = "tp_by_device",
         .help = "list of the tp of each pipeline device, if they differ, such as [8, 8, 4, 4]"},
        into<&Parallel::tp_by_device, read_tp_by_device>({ValueType::count, true})},
    Key<Parallel>{{.name = "cp",
                   .alias = "context",
                   .flag = "--cp",
                   .help = "context parallelism: number of GPUs that share each sequence",
                   .default_value = "1"},
                  count<&Parallel::cp>},
    Key<Parallel>{{.name = "cp_comm_type",
                   .help = "exchange of keys and values between ranks of cp",
                   .default_value = "p2p"},
                  choice<&Parallel::cp_comm, context_comm_names>},
    Key<Parallel>{{.name = "hierarchical_context_parallel_sizes",
                   .help = "list of the two sizes of a2a+p2p: number of ranks that exchange heads, "
                           "and of groups in the ring, such as [8, 2]"},
                  into<&Parallel::cp_sizes, read_cp_sizes>({ValueType::count, true})},
    Key<Parallel>{{.name = "cp_load_balance",
                   .help = "tokens of a rank of cp (from both ends of the sequence, or contiguous)",
                   .default_value = "head_tail"},
                  choice<&Parallel::cp_balance, context_balance_names>},
    Key<Parallel>{{.name = "ep",
                   .alias = "expert",
                   .flag = "--ep",
                   .help = "expert parallelism: number of GPUs that divide the experts among them",
                   .default_value = "1"},
                  count<&Parallel::ep>},
    Key<Parallel>{{.name = "etp",
                   .flag = "--etp",
                   .help = "number of GPUs that share each expert; etp x ep divides tp x cp x dp",
                   .default_value = "tp"},
                  count<&Parallel::etp>},
    Key<Parallel>{{.name = "dp",
                   .alias = "data",
                   .flag = "--dp",
                   .help = "data parallelism: number of replicas of the pipeline",
                   .default_value = "1"},
                  count<&Parallel::dp>},
    Key<Parallel>{
        {.name = "pp",
         .alias = "pipeline",
         .flag = "--pp",
         .help = "pipeline parallelism: number of pipeline devices, the same as the key devices",
         .default_value = "1"},
        count<&Parallel::pp>},
    Key<Parallel>{{.name = "vocab_parallel",
                   .flag = "--vocab-parallel",
                   .help = "sharding of embedding and output layer over the pipeline: with two "
                           "barriers per microbatch or one (schedules 1f1b and v-half), or with "
                           "the output layer on all devices at once (schedule interlaced)",
                   .default_value = "none"},
                  choice<&Parallel::vocabulary, vocabulary_cut_names>},
    Key<Parallel>{{.name = "sp",
                   .alias = "sequence",
                   .flag = "--sp",
                   .help = "sequence parallelism over the GPUs of tp",
                   .default_value = "false"},
                  flag<&Parallel::sequence>},
    Key<Parallel>{
        {.name = "zero",
         .flag = "--zero",
         .help = "ZeRO level; 1 shards the optimizer state, 2 also gradients, 3 also weights",
         .default_value = "0"},
        choice<&Parallel::zero, zero_levels>},
    Key<Parallel>{{.name = "shard",
                   .alias = "dp_shard",
                   .flag = "--shard",
                   .help = "FSDP: number of ranks of dp that shard weights, gradients and "
                           "optimizer state (zero 3)",
                   .default_value = "dp / replicate"},
                  count<&Parallel::shard>},
    Key<Parallel>{{.name = "replicate",
                   .alias = "dp_replicate",
                   .flag = "--replicate",
                   .help = "HSDP: number of replicas of the shards; dp is shard x replicate",
                   .default_value = "1"},
                  count<&Parallel::replicate>},
    Key<Parallel>{
        {.name = "reshard_after_forward",
         .help =
             "zero 3: gather weights again for backward passes; false by default with shard and pp",
         .default_value = "true"},
        flag<&Parallel::reshard_after_forward>},
    Key<Parallel>{{.name = "max_unsharded_stages",
                   .help = "zero 3 with shard and pp: largest number of a device's stages whose "
                           "weights are gathered at a time; default: that of the stack, or all"},
                  count<&Parallel::max_unsharded_stages, "3">},
    Key<Parallel>{{.name = "unshard_lookahead",
                   .help = "zero 3 with shard and pp: number of a device's next stages whose "
                           "gathering may have started: max_unsharded_stages (full), at most "
                           "r + 2 on device r (by_rank), or a list by device",
                   .default_value = "full"},
                  into<&Parallel::unshard_lookahead, read_unshard_lookahead>(
                      {ValueType::choice, false, unshard_rule_names, nullptr})},
    Key<Parallel>{
        {.name = "outer_sharding",
         .help =
             "zero 3 with replicate: state that the replicas of a shard divide among themselves "
             "(hybrid FSDP of Megatron-FSDP)",
         .default_value = "none"},
        choice<&Parallel::outer_sharding, outer_sharding_names>},
    Key<Parallel>{{.name = "gtp",
                   .flag = "--gtp",
                   .help = "generalized tensor parallelism: number of adjacent ranks of dp that "
                           "divide each weight and gather it for each use",
                   .default_value = "1"},
                  count<&Parallel::gtp>},
    Key<Parallel>{{.name = "expert_gtp",
                   .help = "generalized tensor parallelism of experts: number of ranks that divide "
                           "each of their weights",
                   .default_value = "1"},
                  count<&Parallel::expert_gtp>},
    Key<Parallel>{
        {.name = "gather_ahead",
         .help = "zero 3: number of weight elements that a GPU gathers ahead of the layer in use, "
                 "rounded up to whole layers; default: that of the stack, or one layer"},
        count<&Parallel::gather_ahead, "500000000">},
    Key<Parallel>{{.name = "order",
                   .help = "order of ranks, innermost axis first",
                   .default_value = "tp-cp-ep-dp-pp"},
                  {[](const Field& f, Parallel& p) { p.order = read_order(f, p); }}},
};

}  // namespace

Parallel read_parallel(const Field& field) {
  auto parallel = read_map<parallel_table>(field);
  const auto has_key = [&](std::string_view name, std::string_view alias) {
    return std::ranges::any_of(field.value.entries, [&](const Entry& entry) {
      return entry.key == name || (!alias.empty() && entry.key == alias);
    });
  };
  settle_tp(field, has_key("tp", "tensor"), parallel);
  check_cp_sizes(field, parallel);
  if (parallel.gtp || parallel.expert_gtp)
    settle_gtp(field, has_key("dp", "data"), has_key("zero", ""), parallel);
  if (!parallel.gtp && (parallel.shard || parallel.replicate))
    settle_shards(has_key("dp", "data"), has_key("zero", ""), parallel);
  if (parallel.reshard_after_forward && parallel.zero != 3)
    throw Error(
        find(field.value, "reshard_after_forward")->origin,
        fmt::format("parallel.reshard_after_forward needs sharded weights, and parallel.zero is {}",
                    parallel.zero))
        .allow("zero 3, or leave it out");
  check_unsharded_stages(field, parallel);
  check_gathers(field, parallel);
  return parallel;
}

Parallel Parallel::on(std::uint32_t device) const {
  Parallel layout = *this;
  if (tp_by_device.empty()) return layout;
  layout.tp = tp_by_device[device];
  layout.tp_by_device.clear();
  return layout;
}

std::string Parallel::tp_text() const {
  if (tp_by_device.empty()) return std::to_string(tp.value);
  constexpr std::size_t max_listed = 8;
  std::string text;
  for (std::size_t i = 0; i < tp_by_device.size();) {
    const std::uint32_t size = tp_by_device[i].value;
    std::size_t end = i + 1;
    while (tp_by_device.size() > max_listed && end < tp_by_device.size() &&
           tp_by_device[end].value == size)
      ++end;
    text += fmt::format("{}{}", i == 0 ? "" : "/", size);
    if (end - i > 1) text += fmt::format("*{}", end - i);
    i = end;
  }
  return text;
}

double Parallel::gpus() const {
  double tensor = static_cast<double>(tp.value) * pp.value;
  if (!tp_by_device.empty()) {
    tensor = 0;
    for (const Located<std::uint32_t>& device : tp_by_device) tensor += device.value;
  }
  return tensor * cp.value * dp.value;
}

std::vector<KeyRow> parallel_keys() { return rows_of(parallel_table); }

}  // namespace pipewright::config
