#include "sim/execution/collective_runner.hpp"

namespace pipewright::execution {

void CollectiveRunner::run(const std::vector<CollectiveOp>& ops, trace::TrafficClass traffic,
                           const std::function<void()>& done) {
  LinkAccount account = account_;
  account.traffic = traffic;
  run_from(std::make_shared<const std::vector<CollectiveOp>>(ops), 0, account, done);
}

void CollectiveRunner::run_from(const std::shared_ptr<const std::vector<CollectiveOp>>& ops,
                                std::size_t at, const LinkAccount& account,
                                const std::function<void()>& done) {
  while (at < ops->size() && wiring_.transfer_plans((*ops)[at]).empty()) ++at;
  if (at == ops->size()) return done();
  const Wiring::TransferPlans& all = wiring_.transfer_plans((*ops)[at]);
  const auto left = std::make_shared<std::size_t>(all.size());
  const auto after = [this, ops, at, left, account, done] {
    if (--*left == 0) run_from(ops, at + 1, account, done);
  };
  for (const auto& transfer_plan : all) start(transfer_plan, after, account);
}

}  // namespace pipewright::execution
