#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

#include "analysis/report/picture/pictures.hpp"

namespace pipewright::analysis {
namespace {

using Indices = std::vector<std::size_t>;

bool dominates(const TradeoffPoint& a, const TradeoffPoint& b) {
  return a.fits && a.memory <= b.memory && a.throughput >= b.throughput &&
         (a.memory < b.memory || a.throughput > b.throughput);
}

}  // namespace

TEST_CASE("the Pareto front has the runs that fit and that no other run dominates", "[picture]") {
  CHECK(pareto_front(std::vector<TradeoffPoint>{{4, 1}, {2, 1}, {8, 3}, {6, 2}, {6, 1.5}}) ==
        Indices{1, 3, 2});
  CHECK(pareto_front(std::vector<TradeoffPoint>{{1, 9, false}, {2, 1}}) == Indices{1});
  CHECK(pareto_front({}).empty());
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    std::vector<TradeoffPoint> points;
    for (int i = 0; i < 20; ++i)
      points.push_back({static_cast<double>(random() % 8), static_cast<double>(random() % 8),
                        random() % 4 != 0});
    const Indices front = pareto_front(points);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const bool is_dominated =
          !points[i].fits || std::any_of(points.begin(), points.end(),
                                         [&](auto& rhs) { return dominates(rhs, points[i]); });
      const bool has_equal = std::any_of(front.begin(), front.end(), [&](std::size_t j) {
        return points[j].memory == points[i].memory && points[j].throughput == points[i].throughput;
      });
      CHECK((is_dominated || has_equal));
      if (std::find(front.begin(), front.end(), i) != front.end()) CHECK_FALSE(is_dominated);
    }
  }
}

}  // namespace pipewright::analysis
