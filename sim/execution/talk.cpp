#include "sim/execution/talk.hpp"

namespace pipewright::execution {

void Talk::run(const std::vector<Leg>& legs, trace::TrafficClass traffic,
               const std::function<void()>& done) {
  LinkAccount account = account_;
  account.traffic = traffic;
  run_from(std::make_shared<const std::vector<Leg>>(legs), 0, account, done);
}

void Talk::run_from(const std::shared_ptr<const std::vector<Leg>>& legs, std::size_t at,
                    const LinkAccount& account, const std::function<void()>& done) {
  while (at < legs->size() && wiring_.courses((*legs)[at]).empty()) ++at;
  if (at == legs->size()) return done();
  const Wiring::Courses& all = wiring_.courses((*legs)[at]);
  const auto left = std::make_shared<std::size_t>(all.size());
  const auto after = [this, legs, at, left, account, done] {
    if (--*left == 0) run_from(legs, at + 1, account, done);
  };
  for (const auto& course : all) start(course, after, account);
}

}  // namespace pipewright::execution
