#include "sim/workload/ranks.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <string>

#include <catch2/catch.hpp>

using namespace pipewright;
using config::Axis;
using workload::Group;
using workload::Ranks;

namespace {

using Groups = std::vector<std::vector<std::uint32_t>>;
using Order = std::array<Axis, config::axes>;

constexpr Order tp_pp_dp{Axis::tp, Axis::pp, Axis::dp, Axis::cp, Axis::ep};

struct Sizes {
  std::uint32_t tp = 1, cp = 1, ep = 1, dp = 1, pp = 1;
};

config::Parallel layout(const Sizes& sizes, const Order& order = config::Parallel{}.order) {
  config::Parallel parallel;
  parallel.tp.value = sizes.tp;
  parallel.cp.value = sizes.cp;
  parallel.ep.value = sizes.ep;
  parallel.dp.value = sizes.dp;
  parallel.pp.value = sizes.pp;
  parallel.order = order;
  return parallel;
}

std::string error_of(const config::Parallel& parallel) {
  try {
    const Ranks ranks(parallel);
  } catch (const config::Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("sixteen GPUs are laid out as Megatron-core's documentation shows", "[ranks]") {
  // Example in parallel_state.py, initialize_model_parallel(), of Megatron-core: tp 2, pp 4.
  const Ranks ranks(layout({.tp = 2, .dp = 2, .pp = 4}));
  CHECK(ranks.size() == 16);
  CHECK(ranks.groups(Group::dp) ==
        Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}});
  CHECK(ranks.groups(Group::tp) ==
        Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}});
  // The ranks of the four pipelines are 0 4 8 12, 1 5 9 13, 2 6 10 14 and 3 7 11 15.
  CHECK(ranks.groups(Group::embedding) == Groups{{0, 12}, {1, 13}, {2, 14}, {3, 15}});
  for (std::uint32_t device = 0; device < 4; ++device) {
    CHECK(ranks.rank_of({0, device}, 0) == 4 * device);
    CHECK(ranks.rank_of({1, device}, 1) == 4 * device + 3);
  }
}

TEST_CASE("other orders are laid out as Megatron-core's documentation shows", "[ranks]") {
  // Examples of generate_masked_orthogonal_rank_groups() in Megatron-core: eight GPUs in the order
  // tp-pp-dp, and 24 in the order tp-dp-pp.
  CHECK(Ranks(layout({.tp = 2, .dp = 2, .pp = 2}, tp_pp_dp)).groups(Group::dp) ==
        Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  const Groups dp = Ranks(layout({.tp = 2, .dp = 3, .pp = 4})).groups(Group::dp);
  REQUIRE(dp.size() == 8);
  CHECK(dp[0] == std::vector<std::uint32_t>{0, 2, 4});
  CHECK(dp[1] == std::vector<std::uint32_t>{1, 3, 5});
  CHECK(dp[7] == std::vector<std::uint32_t>{19, 21, 23});
}

TEST_CASE("context and data parallel groups are those of Megatron-core's golden test", "[ranks]") {
  // Some rows of golden_rank_result_from_past_code() in tests/unit_tests/test_parallel_state.py.
  // Ranks of a stage follow each other, tp innermost, then cp.
  const auto [nodes, tp, pp, cp, ep] = GENERATE(table<int, int, int, int, int>({{1, 2, 4, 1, 1},
                                                                                {3, 8, 3, 1, 1},
                                                                                {8, 2, 2, 2, 4},
                                                                                {8, 2, 1, 4, 8},
                                                                                {8, 2, 2, 2, 8},
                                                                                {16, 4, 8, 4, 1},
                                                                                {64, 4, 2, 8, 8}}));
  const auto u = [](int x) { return static_cast<std::uint32_t>(x); };
  const std::uint32_t world = u(nodes) * 8;
  const std::uint32_t dp = world / u(tp * pp * cp);
  const std::uint32_t edp = dp * u(cp) / u(ep);
  const Ranks ranks(layout({u(tp), u(cp), u(ep), dp, u(pp)}));
  const std::uint32_t stage = world / u(pp);

  Groups dp_groups;
  Groups cp_groups;
  Groups ep_groups;
  Groups edp_groups;
  for (std::uint32_t p = 0; p < u(pp); ++p) {
    for (std::uint32_t j = 0; j < u(tp); ++j) {
      dp_groups.emplace_back();
      for (std::uint32_t r = p * stage + j; r < (p + 1) * stage; r += u(tp))
        dp_groups.back().push_back(r);
    }
    for (std::uint32_t d = 0; d < dp; ++d)
      for (std::uint32_t k = 0; k < u(tp); ++k) {
        cp_groups.emplace_back();
        for (std::uint32_t c = 0; c < u(cp); ++c)
          cp_groups.back().push_back(p * stage + (d * u(cp) + c) * u(tp) + k);
      }
    // Groups of experts are numbered as by arange(world).reshape(pp, edp, ep, tp).
    for (std::uint32_t d = 0; d < edp; ++d)
      for (std::uint32_t k = 0; k < u(tp); ++k) {
        ep_groups.emplace_back();
        for (std::uint32_t e = 0; e < u(ep); ++e)
          ep_groups.back().push_back(p * stage + (d * u(ep) + e) * u(tp) + k);
      }
    for (std::uint32_t e = 0; e < u(ep); ++e)
      for (std::uint32_t k = 0; k < u(tp); ++k) {
        edp_groups.emplace_back();
        for (std::uint32_t d = 0; d < edp; ++d)
          edp_groups.back().push_back(p * stage + (d * u(ep) + e) * u(tp) + k);
      }
  }
  CHECK(ranks.groups(Group::dp) == dp_groups);
  CHECK(ranks.groups(Group::cp) == cp_groups);
  CHECK(ranks.groups(Group::ep) == ep_groups);
  CHECK(ranks.groups(Group::edp) == edp_groups);
}

TEST_CASE("the groups of a kind contain every rank once, in any order of axes", "[ranks]") {
  std::mt19937 random(11);
  const auto pick_one = [&](std::vector<std::uint32_t> values) {
    return values[random() % values.size()];
  };
  int laid_out = 0;
  for (int i = 0; i < 400; ++i) {
    Sizes sizes{.tp = pick_one({1, 2, 3, 8}),
                .cp = pick_one({1, 2, 4}),
                .dp = pick_one({1, 2, 5, 8}),
                .pp = pick_one({1, 2, 6})};
    std::vector<std::uint32_t> divisors;
    for (std::uint32_t ep = 1; ep <= sizes.cp * sizes.dp; ++ep)
      if (sizes.cp * sizes.dp % ep == 0) divisors.push_back(ep);
    sizes.ep = pick_one(divisors);
    Order order = config::Parallel{}.order;
    std::shuffle(order.begin(), order.end(), random);
    const config::Parallel parallel = layout(sizes, order);
    if (!error_of(parallel).empty()) {
      CHECK_THAT(error_of(parallel), Catch::Contains("pp last in parallel.order"));
      CHECK(order.back() != Axis::pp);
      continue;
    }
    ++laid_out;
    const Ranks ranks(parallel);
    REQUIRE(ranks.size() == sizes.tp * sizes.cp * sizes.dp * sizes.pp);
    const std::vector<std::pair<Group, std::uint32_t>> kinds{
        {Group::tp, sizes.tp},
        {Group::cp, sizes.cp},
        {Group::ep, sizes.ep},
        {Group::dp, sizes.dp * sizes.cp},
        {Group::edp, sizes.dp * sizes.cp / sizes.ep},
        {Group::embedding, std::min(sizes.pp, 2U)},
        {Group::world, ranks.size()}};
    for (const auto& [kind, size] : kinds) {
      REQUIRE(ranks.group_size(kind) == size);
      std::vector<std::uint32_t> seen;
      for (const auto& group : ranks.groups(kind)) {
        REQUIRE(group.size() == size);
        seen.insert(seen.end(), group.begin(), group.end());
        // All ranks of a group belong to one device of the pipeline, except in kinds of groups that
        // span devices.
        if (kind == Group::embedding) {
          CHECK(ranks.of(group.front()).pp == 0);
          CHECK(ranks.of(group.back()).pp == sizes.pp - 1);
        } else if (kind != Group::world) {
          for (const std::uint32_t rank : group)
            REQUIRE(ranks.of(rank).pp == ranks.of(group.front()).pp);
        }
      }
      std::sort(seen.begin(), seen.end());
      if (kind == Group::embedding && sizes.pp > 2) {
        REQUIRE(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
        REQUIRE(seen.size() == 2 * ranks.size() / sizes.pp);
        continue;
      }
      std::vector<std::uint32_t> ranks_in_order(ranks.size());
      std::iota(ranks_in_order.begin(), ranks_in_order.end(), 0U);
      REQUIRE(seen == ranks_in_order);
    }
  }
  CHECK(laid_out > 100);
}

TEST_CASE("experts folded over tp have groups of their own", "[ranks]") {
  // Eight ranks of one stage: tp 4 x dp 2; experts have etp 2 x ep 2 x edp 2, the innermost first.
  config::Parallel folded = layout({.tp = 4, .ep = 2, .dp = 2});
  folded.etp = {2, {}};
  const Ranks ranks(folded);
  CHECK(ranks.groups(Group::tp) == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(ranks.groups(Group::dp) == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(ranks.groups(Group::etp) == Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  CHECK(ranks.groups(Group::ep) == Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  CHECK(ranks.groups(Group::edp) == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  // Even a single replica can hold experts twice, if tp is larger than etp x ep.
  folded = layout({.tp = 4, .ep = 2});
  folded.etp = {1, {}};
  CHECK(Ranks(folded).groups(Group::ep) == Groups{{0, 1}, {2, 3}});
  CHECK(Ranks(folded).groups(Group::edp) == Groups{{0, 2}, {1, 3}});
}

TEST_CASE("hierarchical context parallelism exchanges heads between neighbours", "[ranks]") {
  // Groups are those of Megatron-Core's create_hierarchical_groups(): with 8 ranks in 4 x 2, the
  // first four ranks form a group, and so do the ranks with the same position in different groups
  // of four.
  config::Parallel parallel = layout({.tp = 2, .cp = 8});
  parallel.cp_comm = config::ContextComm::a2a_p2p;
  parallel.cp_sizes = {{4, {}}, {2, {}}};
  const Ranks ranks(parallel);
  CHECK(ranks.groups(Group::cp_a2a) ==
        Groups{{0, 2, 4, 6}, {1, 3, 5, 7}, {8, 10, 12, 14}, {9, 11, 13, 15}});
  CHECK(ranks.groups(Group::cp_p2p) ==
        Groups{{0, 8}, {1, 9}, {2, 10}, {3, 11}, {4, 12}, {5, 13}, {6, 14}, {7, 15}});
  CHECK(ranks.groups(Group::cp) ==
        Groups{{0, 2, 4, 6, 8, 10, 12, 14}, {1, 3, 5, 7, 9, 11, 13, 15}});
  CHECK(ranks.group_size(Group::dp) == 8);
  CHECK(ranks.of(11).cp == 5);
  CHECK(ranks.ranks_per_stage() == 16);
  parallel.cp_sizes.back().value = 4;
  CHECK_THAT(error_of(parallel),
             Catch::Contains("4 x 4 = 16, but cp is 8; allowed: two sizes whose product is cp"));
}

TEST_CASE("runs of ranks contain whole groups", "[ranks]") {
  config::Parallel parallel = layout({.tp = 2, .cp = 4, .ep = 16, .dp = 8, .pp = 2});
  parallel.etp = {1, {}};
  const Ranks ranks(parallel);
  CHECK(ranks.run(Group::tp) == 2);
  CHECK(ranks.run(Group::cp) == 8);
  CHECK(ranks.run(Group::etp) == 1);
  CHECK(ranks.run(Group::ep) == 16);
  CHECK(ranks.run(Group::dp) == 64);
  CHECK(ranks.run(Group::pp) == 128);
}

TEST_CASE("coordinates and ranks are inverse to each other", "[ranks]") {
  const Ranks ranks(layout({.tp = 2, .cp = 3, .ep = 6, .dp = 4, .pp = 5},
                           {Axis::dp, Axis::tp, Axis::ep, Axis::cp, Axis::pp}));
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank)
    REQUIRE(ranks.rank(ranks.of(rank)) == rank);
  // Members of a device are numbered along tp first, then along cp.
  CHECK(ranks.ranks_per_stage() == 6);
  const workload::Coordinates coordinates = ranks.of(ranks.rank_of({2, 3}, 5));
  CHECK(coordinates.pp == 3);
  CHECK(coordinates.dp == 2);
  CHECK(coordinates.tp == 1);
  CHECK(coordinates.cp == 2);
}

TEST_CASE("errors of impossible layouts name what is allowed", "[ranks]") {
  CHECK(
      error_of(layout({.ep = 3, .dp = 8})) ==
      "ep is 3, which does not divide the 8 ranks of tp x cp x dp (1 x 1 x 8) / etp (1); allowed: "
      "2 or 4");
  CHECK(
      error_of(layout({.cp = 2, .ep = 16, .dp = 4})) ==
      "ep is 16, which does not divide the 8 ranks of tp x cp x dp (1 x 2 x 4) / etp (1); allowed: "
      "8");
  CHECK_THAT(error_of(layout({.tp = 2, .ep = 8, .dp = 4})),
             Catch::EndsWith("/ etp (2); allowed: 4, or etp 1, which spreads experts over the "
                             "ranks of tp too"));
  config::Parallel shared = layout({.tp = 2, .dp = 4});
  shared.etp = {3, {"s.yaml", 2, 5}};
  CHECK(error_of(shared) ==
        "s.yaml:2:5: etp is 3, which does not divide the 8 ranks of tp x cp x dp (2 x 1 x 4); "
        "allowed: 2 or 4");
  CHECK(error_of(layout({.tp = 4096, .dp = 2048, .pp = 4})) ==
        "tp x cp x dp x pp is 4096 x 1 x 2048 x 4 GPUs; allowed: at most 16777216");
  CHECK(error_of(layout({.tp = 1U << 31U, .cp = 1U << 31U, .dp = 1U << 31U})) != "");
  CHECK_THAT(error_of(layout({.tp = 2, .ep = 4, .dp = 4, .pp = 2}, tp_pp_dp)), Catch::Equals(""));
  CHECK_THAT(error_of(layout({.ep = 2, .dp = 4, .pp = 2},
                             {Axis::tp, Axis::cp, Axis::ep, Axis::pp, Axis::dp})),
             Catch::StartsWith("with etp x ep = 1 x 2 and tp x cp = 1 x 1, this order of ranks"));
}

TEST_CASE("shards are on neighbouring ranks, and their copies further apart", "[ranks]") {
  // Sixteen GPUs with tp 2 and dp 8, which is shard 4 x replicate 2, numbered like torchtitan's
  // mesh (dp_replicate, dp_shard, tp).
  config::Parallel parallel = layout({.tp = 2, .dp = 8});
  parallel.replicate = {2, {}};
  const Ranks ranks(parallel);
  CHECK(ranks.replicas() == 8);
  CHECK(ranks.of(11).dp == 5);
  CHECK(ranks.groups(Group::shard) ==
        Groups{{0, 2, 4, 6}, {1, 3, 5, 7}, {8, 10, 12, 14}, {9, 11, 13, 15}});
  CHECK(ranks.groups(Group::replicate) ==
        Groups{{0, 8}, {1, 9}, {2, 10}, {3, 11}, {4, 12}, {5, 13}, {6, 14}, {7, 15}});
  CHECK(ranks.groups(Group::dp) ==
        Groups{{0, 2, 4, 6, 8, 10, 12, 14}, {1, 3, 5, 7, 9, 11, 13, 15}});
  // Shards are also distributed over ranks of cp.
  parallel = layout({.cp = 2, .dp = 4});
  parallel.replicate = {2, {}};
  CHECK(Ranks(parallel).groups(Group::shard) == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(Ranks(parallel).group_size(Group::shard) == 4);
  CHECK(Ranks(parallel).groups(Group::replicate) == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
}

TEST_CASE("shards of experts are within one copy of all shards", "[ranks]") {
  config::Parallel parallel = layout({.ep = 2, .dp = 8});
  parallel.replicate = {2, {}};
  const Ranks ranks(parallel);
  CHECK(ranks.groups(Group::edp) == Groups{{0, 2, 4, 6}, {1, 3, 5, 7}});
  CHECK(ranks.groups(Group::expert_shard) == Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  CHECK(ranks.groups(Group::expert_replicate) == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  parallel = layout({.ep = 4, .dp = 4});
  parallel.replicate = {2, {}};
  CHECK_THAT(error_of(parallel),
             Catch::Contains("parallel.replicate is 2, which does not divide tp x cp x dp / (etp "
                             "x ep) (1); allowed: 1"));
}

TEST_CASE("ranks of generalized tensor parallelism follow those of tp", "[ranks][gtp]") {
  // Megatron-Core's order is tp-gtp_remat-cp-ep-dp-pp, and for experts tp-cp-ep-gtp_remat-dp-pp
  // (parallel_state.py, _inject_gtp_remat_axis). Sixteen GPUs have tp 2, gtp 4 and two copies.
  config::Parallel parallel = layout({.tp = 2, .dp = 8});
  const auto set_gtp = [&](std::uint32_t gtp, std::uint32_t expert_gtp, std::uint32_t copies) {
    parallel.gtp = parallel.shard = config::Located<std::uint32_t>{gtp, {}};
    parallel.expert_gtp = config::Located<std::uint32_t>{expert_gtp, {}};
    parallel.replicate = config::Located<std::uint32_t>{copies, {}};
  };
  set_gtp(4, 1, 2);
  CHECK(Ranks(parallel).groups(Group::shard) ==
        Groups{{0, 2, 4, 6}, {1, 3, 5, 7}, {8, 10, 12, 14}, {9, 11, 13, 15}});
  CHECK(Ranks(parallel).groups(Group::replicate) ==
        Groups{{0, 8}, {1, 9}, {2, 10}, {3, 11}, {4, 12}, {5, 13}, {6, 14}, {7, 15}});
  // Experts have shards of their own: with ep 2, four ranks have the same experts.
  parallel = layout({.ep = 2, .dp = 8});
  set_gtp(8, 2, 1);
  CHECK(Ranks(parallel).groups(Group::shard) == Groups{{0, 1, 2, 3, 4, 5, 6, 7}});
  CHECK(Ranks(parallel).groups(Group::expert_shard) == Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  CHECK(Ranks(parallel).groups(Group::expert_replicate) == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  set_gtp(8, 1, 1);
  CHECK(Ranks(parallel).group_size(Group::expert_shard) == 1);
  CHECK(Ranks(parallel).groups(Group::expert_replicate) == Groups{{0, 2, 4, 6}, {1, 3, 5, 7}});
  set_gtp(8, 3, 1);
  CHECK_THAT(error_of(parallel),
             Catch::Contains("parallel.expert_gtp is 3, which does not divide tp x cp x dp / (etp "
                             "x ep) (4); allowed: 2 or 4"));
}

namespace {

config::Parallel by_device(const std::vector<std::uint32_t>& tp, std::uint32_t dp = 1,
                           std::uint32_t cp = 1) {
  config::Parallel parallel =
      layout({.tp = std::ranges::max(tp), .cp = cp, .dp = dp, .pp = std::uint32_t(tp.size())});
  for (const std::uint32_t size : tp) parallel.tp_by_device.push_back({size, {}});
  return parallel;
}

}  // namespace

TEST_CASE("ranks of devices with different tp follow each other", "[ranks]") {
  // With two replicas, device 0 has ranks 0 to 7 (tp 4) and device 1 ranks 8 to 11 (tp 2).
  const Ranks ranks(by_device({4, 2}, 2));
  CHECK(ranks.size() == 12);
  CHECK(ranks.are_uneven());
  CHECK(ranks.groups(Group::tp) == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}, {10, 11}});
  CHECK(ranks.groups(Group::dp) == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}, {8, 10}, {9, 11}});
  CHECK(ranks.ranks_per_stage(0) == 4);
  CHECK(ranks.ranks_per_stage(1) == 2);
  CHECK(ranks.group_size(Group::tp) == 4);
  CHECK(ranks.group_size(Group::tp, 1) == 2);
  CHECK(ranks.run(Group::dp, 1) == 4);
  // Each rank of device 1 has the embedding part of two ranks of device 0.
  CHECK(ranks.groups(Group::embedding) ==
        Groups{{0, 8}, {1, 8}, {2, 9}, {3, 9}, {4, 10}, {5, 10}, {6, 11}, {7, 11}});
  CHECK(ranks.groups(Group::pp) == ranks.groups(Group::embedding));
  CHECK(ranks.groups(Group::world).size() == 1);
}

TEST_CASE("every rank of uneven devices has one position, and its coordinates lead back to it",
          "[ranks]") {
  const Ranks ranks(by_device({1, 6, 4}, 3, 2));
  CHECK(ranks.size() == 11 * 3 * 2);
  std::vector<std::uint32_t> seen;
  for (std::uint32_t device = 0; device < 3; ++device)
    for (std::uint32_t replica = 0; replica < 3; ++replica)
      for (std::uint32_t member = 0; member < ranks.ranks_per_stage(device); ++member) {
        const std::uint32_t rank = ranks.rank_of({replica, device}, member);
        seen.push_back(rank);
        const workload::Coordinates coordinates = ranks.of(rank);
        CHECK(coordinates.pp == device);
        CHECK(coordinates.dp == replica);
        CHECK(ranks.rank(coordinates) == rank);
      }
  std::ranges::sort(seen);
  std::vector<std::uint32_t> ranks_in_order(ranks.size());
  std::iota(ranks_in_order.begin(), ranks_in_order.end(), 0U);
  CHECK(seen == ranks_in_order);
  for (const Group kind : {Group::tp, Group::cp, Group::dp, Group::world}) {
    std::uint32_t members = 0;
    for (const auto& group : ranks.groups(kind)) members += std::uint32_t(group.size());
    CHECK(members == ranks.size());
  }
}

TEST_CASE("one tp per device with equal values lays ranks out like a common tp", "[ranks]") {
  const Ranks uneven(by_device({2, 2, 2}, 2, 2));
  const Ranks even(layout({.tp = 2, .cp = 2, .dp = 2, .pp = 3}));
  for (std::uint32_t rank = 0; rank < even.size(); ++rank) {
    CHECK(uneven.of(rank).pp == even.of(rank).pp);
    CHECK(uneven.of(rank).dp == even.of(rank).dp);
    CHECK(uneven.of(rank).tp == even.of(rank).tp);
  }
  for (const Group kind : {Group::tp, Group::cp, Group::dp, Group::pp, Group::embedding}) {
    auto groups = even.groups(kind);
    auto uneven_groups = uneven.groups(kind);
    std::ranges::sort(groups);
    std::ranges::sort(uneven_groups);
    CHECK(groups == uneven_groups);
  }
}

TEST_CASE("each part of a cut tensor is sent once, a whole tensor to each rank", "[ranks]") {
  const Ranks ranks(by_device({4, 2, 3}));
  using Flow = std::array<double, 3>;
  const auto hop = [&](std::uint32_t from, std::uint32_t to, bool cut) {
    std::vector<Flow> flows;
    for (const auto& [source, destination, parts] : ranks.hop({0, from}, to, cut))
      flows.push_back({double(source), double(destination), parts});
    return flows;
  };
  // A flow is {source, destination, amount}. The unit of amounts is a quarter of the tensor, the
  // part of a rank of the device with the largest tp.
  CHECK(hop(0, 1, true) == std::vector<Flow>{{0, 4, 1}, {1, 4, 1}, {2, 5, 1}, {3, 5, 1}});
  CHECK(hop(1, 0, true) == std::vector<Flow>{{4, 0, 1}, {4, 1, 1}, {5, 2, 1}, {5, 3, 1}});
  // Between tp 2 and tp 3, halves and thirds of the tensor are both made of sixths.
  const double sixth = 4. / 6;
  CHECK(hop(1, 2, true) ==
        std::vector<Flow>{{4, 6, 2 * sixth}, {4, 7, sixth}, {5, 7, sixth}, {5, 8, 2 * sixth}});
  CHECK(hop(0, 1, false) == std::vector<Flow>{{0, 4, 1}, {2, 5, 1}});
  CHECK(hop(1, 0, false) == std::vector<Flow>{{4, 0, 1}, {4, 1, 1}, {5, 2, 1}, {5, 3, 1}});
}
