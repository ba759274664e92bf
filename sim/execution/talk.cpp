#include "sim/execution/talk.hpp"

#include <utility>

namespace pipewright::execution {

void Talk::run(std::vector<Leg> legs, std::function<void()> done) {
  run_from(std::make_shared<std::vector<Leg>>(std::move(legs)), 0, std::move(done));
}

void Talk::run_from(std::shared_ptr<std::vector<Leg>> legs, std::size_t at,
                    std::function<void()> done) {
  while (at < legs->size() && wiring_.courses((*legs)[at]).empty()) ++at;
  if (at == legs->size()) return done();
  const Wiring::Courses& all = wiring_.courses((*legs)[at]);
  const auto left = std::make_shared<std::size_t>(all.size());
  for (const auto& course : all)
    start(course, [this, legs, at, left, done] {
      if (--*left == 0) run_from(legs, at + 1, done);
    });
}

}  // namespace pipewright::execution
