#include <catch2/catch.hpp>

#include "analysis/report/picture/layout.hpp"
#include "tests/analysis/report/picture/one_f_one_b_trace.hpp"

namespace pipewright::analysis {

using trace::PassKind;

TEST_CASE("boxes of a kind are labelled in one size if their numbers fit") {
  const trace::Trace run = test::one_f_one_b_trace({.devices = 4, .microbatches = 16});
  const LabelStyle wide = label_style(run, 30e3, 22);  // A forward pass is 30 points wide.
  CHECK(wide.has(PassKind::forward));
  CHECK(wide.has(PassKind::backward));
  CHECK(wide.size == 10.5);

  const LabelStyle narrow = label_style(run, 6e3, 22);  // Passes are 6 and 12 points wide.
  CHECK_FALSE(narrow.has(PassKind::forward));
  CHECK(narrow.has(PassKind::backward));
  CHECK(narrow.size < 10.5);

  CHECK_FALSE(label_style(run, 1e3, 22).has_labels());
  CHECK_FALSE(label_style(run, 30e3, 8).has_labels());  // The rows are too low for text.
}

TEST_CASE("half boxes have smaller labels or none") {
  const trace::Trace run = test::one_f_one_b_trace({.devices = 4, .microbatches = 16});
  const LabelStyle high = label_style(run, 30e3, 22);
  CHECK(high.half_size > 6.5);
  CHECK(high.half_size < high.size);
  CHECK(high.half_size < 11);
  const LabelStyle low = label_style(run, 30e3, 15);
  CHECK(low.has_labels());
  CHECK(low.half_size == 0);
}

TEST_CASE("equal passes have labels at any time of the run") {
  // The size of labels is the largest that fits. Widths at a distance from 0 differ by rounding.
  trace::Trace run = test::one_f_one_b_trace({.devices = 4, .microbatches = 16});
  for (trace::PassRow& pass : run.passes)
    if (pass.kind == PassKind::forward) pass.microbatch = 17;
  constexpr double units_per_s = 13e3;
  const LabelStyle style = label_style(run, units_per_s, 22);
  REQUIRE(style.has(PassKind::forward));
  REQUIRE(style.size < 10.5);
  for (const trace::PassRow& pass : run.passes) {
    if (pass.kind != PassKind::forward) continue;
    const double width = pass.end * units_per_s - pass.start * units_per_s;
    CHECK(label_fits(pass.microbatch, style.size, width));
  }
}

TEST_CASE("a label needs room for its digits") {
  CHECK(label_fits(7, 10, 8));
  CHECK_FALSE(label_fits(17, 10, 8));
  CHECK(label_fits(17, 10, 14));
  CHECK_FALSE(label_fits(117, 10, 14));
}

}  // namespace pipewright::analysis
