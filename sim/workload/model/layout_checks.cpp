#include "sim/workload/model/layout_checks.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace pipewright::workload {
namespace {

using Located = config::Located<std::uint32_t>;

// The divisors of `whole` on both sides of `wanted`.
std::string nearest(std::uint64_t whole, std::uint64_t wanted) {
  std::uint64_t below = std::min(whole, wanted);
  while (below > 1 && whole % below != 0) --below;
  std::uint64_t above = wanted;
  while (above <= whole && whole % above != 0) ++above;
  return above > whole || above == below ? fmt::format("{}", below)
                                         : fmt::format("{} or {}", below, above);
}

// `number` has to divide `whole`; `all` is what has to be divided by it besides.
void divides(const Located& number, std::string_view name, std::uint64_t whole, std::string_view of,
             std::uint64_t all) {
  if (whole % number.value == 0) return;
  throw config::Error(config::locate(
      number.origin,
      fmt::format("{} is {}, which does not divide {} ({}); allowed: a divisor, such "
                  "as {}",
                  name, number.value, of, whole, nearest(all, number.value))));
}

void check_tp(const config::Model& model, const Located& tp) {
  std::uint64_t all = std::gcd<std::uint64_t, std::uint64_t>(model.heads, model.ffn);
  if (!model.latent) all = std::gcd(all, std::uint64_t{model.kv_heads});
  if (model.experts) {
    all = std::gcd(std::uint64_t{model.heads}, std::uint64_t{model.experts->ffn});
    if (!model.latent) all = std::gcd(all, std::uint64_t{model.kv_heads});
  }
  divides(tp, "parallel.tp", model.heads, "the model's heads", all);
  if (!model.latent) divides(tp, "parallel.tp", model.kv_heads, "the model's kv_heads", all);
  const bool dense = !model.experts || model.experts->first_dense > 0 || model.experts->every > 1;
  if (dense) divides(tp, "parallel.tp", model.ffn, "the model's ffn", all);
  if (!model.experts) return;
  divides(tp, "parallel.tp", model.experts->ffn, "the ffn of the model's experts", all);
  if (model.experts->shared > 0)
    divides(tp, "parallel.tp", std::uint64_t{model.experts->shared} * model.experts->shared_ffn,
            "the ffn of the model's shared experts", all);
}

void check_sequence(const config::Training& training, const config::Model& model,
                    const config::Parallel& parallel) {
  const std::uint32_t sequence = training.sequence.value_or(model.sequence);
  divides(parallel.cp, "parallel.cp", sequence, "the sequence", sequence);
  if (parallel.sequence)
    divides(parallel.tp, "parallel.tp", sequence / parallel.cp.value,
            "a rank's part of the sequence, which parallel.sequence cuts", sequence);
}

void check_experts(const config::Model& model, const config::Parallel& parallel) {
  const Located& ep = parallel.ep;
  if (ep.value == 1) return;
  if (!model.experts)
    throw config::Error(config::locate(
        ep.origin,
        fmt::format("parallel.ep is {}, and the model has no experts; allowed: 1", ep.value)));
  const std::uint64_t ranks = std::uint64_t{parallel.dp.value} * parallel.cp.value;
  const std::uint64_t all = std::gcd<std::uint64_t, std::uint64_t>(model.experts->count, ranks);
  divides(ep, "parallel.ep", model.experts->count, "the model's experts", all);
  divides(ep, "parallel.ep", ranks, "parallel.dp x parallel.cp, the ranks that share them", all);
}

}  // namespace

void check_layout(const config::Model& model, const config::Training& training,
                  const config::Parallel& parallel) {
  check_tp(model, parallel.tp);
  check_sequence(training, model, parallel);
  check_experts(model, parallel);
}

}  // namespace pipewright::workload
