#include "analysis/report/summary.hpp"

#include <catch2/catch.hpp>

#include "analysis/trace/reader.hpp"
#include "tests/analysis/report/runs.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using analysis::summarize;
using analysis::Summary;
using trace::MemoryCategory;
using trace::PassKind;

TEST_CASE("the summary of 1F1B on two devices equals a count by hand", "[summary]") {
  const Summary summary = summarize(test::two_device_run());
  CHECK(summary.makespan_s == 10);
  CHECK(summary.bubble_ratio == Approx(0.4));   // 1 - 12 / (2 x 10)
  CHECK(summary.span_bubble_s == 4);            // device 0: 10 - 0 - 6; device 1: 7.5 - 1.5 - 6
  CHECK(summary.samples_per_s == Approx(0.6));  // 2 microbatches of 3 samples in 10 s
  CHECK(summary.tokens_per_s == Approx(600));
  CHECK(analysis::exposed_communication(summary) == 1);

  const auto& first = summary.devices.at(0);
  CHECK(first.host == "left");
  CHECK(first.passes == 4);
  CHECK(first.busy_s == 6);
  CHECK(first.start_s == 0);
  CHECK(first.end_s == 10);
  CHECK(first.peak_in_flight == 2);
  CHECK(first.parts.exposed() == 1);  // before each B
  const auto& second = summary.devices.at(1);
  CHECK(second.busy_s == 6);
  CHECK(second.start_s == 1.5);
  CHECK(second.end_s == 7.5);
  CHECK(second.peak_in_flight == 1);
  CHECK(second.parts.exposed() == 0.5);  // before its first F
}

TEST_CASE("throughput counts all iterations, and is unknown without samples", "[summary]") {
  trace::Trace trace = test::two_device_run();
  trace.run.iterations = 4;
  trace.run.tokens_per_microbatch = 0;
  const Summary summary = summarize(trace);
  CHECK(summary.samples_per_s == Approx(2.4));
  CHECK_FALSE(summary.tokens_per_s.has_value());
}

TEST_CASE("an overlapping blocking send and transfer are exposed once", "[summary]") {
  trace::Trace trace;
  trace.run.devices = 1;
  trace.devices = {{0, "", 0}};
  const auto pass = [&](double sent, double ready, double start, double end, double released) {
    trace.passes.push_back({0, 0, 0, 0, 0, PassKind::forward, sent, ready, start, end, released});
    return summarize(trace).devices[0].parts.exposed();
  };
  // The input arrives in a transfer from 1 to 3 s, of which the device waits for all 2 s. Then it
  // computes from 4 to 5 s, and its output is sent until 7 s.
  CHECK(pass(1, 3, 4, 5, 7) == 2);
  // Idle from 5 to 10 s, of which the send covers 5 to 7 s and the transfer of the next input 6 to
  // 9 s: together 4 s.
  CHECK(pass(6, 9, 10, 11, 11) == 2 + 4);
  // Idle from 11 to 13 s, but the input had arrived while the device computed: nothing is exposed.
  CHECK(pass(10, 11, 13, 14, 14.5) == 2 + 4 + 0);
  // Idle from 14 to 14.5 s, because of the send alone.
  CHECK(pass(3, 4, 14.5, 15, 15) == 2 + 4 + 0 + 0.5);
  // Idle from 15 to 16 s: the transfer of the input began before that and ended at 15.75 s.
  CHECK(pass(13, 15.75, 16, 17, 17) == 2 + 4 + 0 + 0.5 + 0.75);
}

TEST_CASE("both inputs of a fused pair are exposed", "[summary]") {
  trace::Trace trace;
  trace.run.devices = 1;
  trace.devices = {{0, "", 0}};
  trace.passes = {{0, 0, 0, 1, 0, PassKind::forward, 0, 1, 4, 6, 6},
                  {0, 0, 0, 0, 0, PassKind::backward, 2, 3, 4, 6, 6}};
  CHECK(summarize(trace).devices[0].parts.p2p == 2);
  trace.passes[0].ready = 2.5;  // what overlaps counts once
  CHECK(summarize(trace).devices[0].parts.p2p == 3);
}

TEST_CASE("a fused pair waits for collectives as a pair, other passes alone", "[summary]") {
  trace::Trace trace;
  trace.run.devices = 1;
  trace.devices = {{0, "", 0}};
  trace::StageRow stage;
  stage.waits_f = 0.5;
  stage.waits_b = 0.75;
  stage.waits_paired_f = stage.waits_paired_b = 0.125;
  trace.stages = {stage};
  trace.passes = {{0, 0, 0, 0, 0, PassKind::forward, 0, 0, 0, 2, 2},
                  {0, 0, 0, 1, 0, PassKind::forward, 0, 0, 2, 6, 6},
                  {0, 0, 0, 0, 0, PassKind::backward, 2, 2, 2, 6, 6},
                  {0, 0, 0, 1, 0, PassKind::backward, 6, 6, 6, 9, 9}};
  CHECK(summarize(trace).devices[0].parts.in_passes == 0.5 + 2 * 0.125 + 0.75);
}

TEST_CASE("a step covers transfers during it, but not the send before it", "[summary]") {
  trace::Trace trace;
  trace.run.devices = 1;
  trace.run.iterations = 2;
  trace.devices = {{0, "", 0}};
  // Idle from 1 to 6 s: the optimizer step lasts from 1.5 to 4 s, and the transfer of the next
  // input from 2 to 5 s.
  trace.passes = {{0, 0, 0, 0, 0, PassKind::forward, 0, 0, 0, 1, 1.5},
                  {0, 0, 0, 1, 1, PassKind::forward, 2, 5, 6, 7, 7.5}};
  trace.steps = {{0, 0, 1.5, 3, 3, 4, 4, 0}, {0, 1, 7.5, 8, 8, 8.25, 8.5, 0}};
  const auto check = [](const Summary& summary) {
    const analysis::TimeParts& parts = summary.devices.at(0).parts;
    CHECK(parts.p2p == 0.5 + 1 + 0.5);
    CHECK(parts.gradients == 1.5 + 0.5);
    CHECK(parts.optimizer == 1 + 0.25);
    CHECK(parts.weights == 0.25);
    CHECK(parts.compute == 2);
    CHECK(parts.idle == 1);  // from 5 to 6
  };
  check(summarize(trace));
  // The simulator reports an optimizer step between the passes before it and those after it.
  analysis::SummarySink sink;
  sink.begin(trace.run, trace.devices, trace.stages);
  for (std::size_t i = 0; i < 2; ++i) {
    sink.pass(trace.passes[i]);
    sink.step(trace.steps[i]);
  }
  sink.finish();
  check(sink.summary());
}

TEST_CASE("a chunk is in flight from its F to its W or B, and counts its share", "[summary]") {
  trace::Trace trace;
  trace.run.devices = 1;
  trace.run.chunks = 4;
  trace.devices = {{0, "", 0}};
  double now = 0;
  for (const PassKind kind :
       {PassKind::forward, PassKind::forward, PassKind::forward, PassKind::input_grad,
        PassKind::input_grad, PassKind::forward, PassKind::weight_grad, PassKind::backward,
        PassKind::forward, PassKind::forward}) {
    trace.passes.push_back({0, 0, 0, 0, 0, kind, now, now, now, now + 1, now + 1});
    now += 1;
  }
  CHECK(summarize(trace).devices[0].peak_in_flight == 1.0);  // four chunks of four
}

TEST_CASE("the memory peak is the largest sum over categories at one time", "[summary]") {
  trace::Trace trace;
  trace.run.devices = 2;
  trace.devices = {{0, "", 0}, {1, "", 0}};
  trace.memory = {{0, MemoryCategory::weights, 0, 100},    {1, MemoryCategory::weights, 0, 7},
                  {0, MemoryCategory::activations, 1, 50}, {0, MemoryCategory::activations, 2, 10},
                  {0, MemoryCategory::gradients, 3, 30},   {0, MemoryCategory::weights, 4, 0},
                  {0, MemoryCategory::optimizer, 4, 1}};
  const Summary summary = summarize(trace);
  CHECK(summary.devices[0].peak_memory_bytes == 150);
  CHECK(summary.devices[1].peak_memory_bytes == 7);
}

TEST_CASE("gradients are exposed during their reduction, not while waiting for peers",
          "[summary]") {
  using trace::CollectiveKind;
  trace::Trace trace;
  trace.run.devices = 1;
  trace.devices = {{0, "", 0}};
  trace.steps = {{0, 0, 10, 20, 21, 22, 22, 0}};  // its passes end at 10, all is reduced at 20
  const auto gradients = [&] { return summarize(trace).devices[0].parts.gradients; };
  CHECK(gradients() == 10);  // nothing says what for
  // Reducing the first bucket takes from 9 to 12 s, at first for 1 s beside compute. The second
  // bucket waits for another replica until 13 s, which does not count, and ends at 14 s.
  trace.collectives = {{0, 0, 0, CollectiveKind::reduce_gradients, 1, 8, 9, 12},
                       {0, 0, 0, CollectiveKind::reduce_gradients, 1, 9, 13, 14}};
  CHECK(gradients() == 2 + 1);
  // The gradients of the tied embedding wait until 18 s for the other end of the pipeline, and then
  // take 2 s.
  trace.collectives.push_back({0, 0, 0, CollectiveKind::tie_embeddings, 1, 14, 18, 20});
  CHECK(gradients() == 2 + 1 + 2);
  // The embedding adds nothing if another reduction lasts all of that time, and gathering of
  // weights does not count as gradients.
  trace.collectives.push_back({0, 0, 0, CollectiveKind::reduce_gradients, 1, 11, 11, 19});
  trace.collectives.push_back({0, 0, 0, CollectiveKind::gather_weights, 1, 0, 0, 30});
  CHECK(gradients() == 10);
  // Reductions of the next iteration do not count.
  trace.collectives = {{0, 0, 1, CollectiveKind::reduce_gradients, 1, 31, 31, 33},
                       {0, 0, 0, CollectiveKind::reduce_gradients, 1, 19, 19, 20}};
  trace.steps.push_back({0, 1, 30, 33, 33, 33, 33, 0});
  CHECK(gradients() == 1 + 2);
}

TEST_CASE("an empty run has no bubble and no throughput", "[summary]") {
  trace::Trace trace;
  trace.run.devices = 1;
  trace.run.samples_per_microbatch = 1;
  trace.devices = {{0, "idle", 0}};
  const Summary summary = summarize(trace);
  CHECK(summary.makespan_s == 0);
  CHECK(summary.bubble_ratio == 0);
  CHECK_FALSE(summary.samples_per_s.has_value());
  CHECK(summarize({}).devices.empty());
}

TEST_CASE("the summary of a file equals that of its run", "[summary]") {
  const test::ScratchFolder folder;
  const trace::Trace trace = test::random_trace(3, 8, 20000);
  test::write_trace(trace, folder / "a.h5");
  analysis::SummarySink sink;
  trace::replay(folder / "a.h5", sink);
  const Summary direct = summarize(trace);
  CHECK(sink.summary().makespan_s == direct.makespan_s);
  CHECK(sink.summary().bubble_ratio == direct.bubble_ratio);
  for (std::size_t i = 0; i < direct.devices.size(); ++i) {
    CHECK(sink.summary().devices[i].busy_s == direct.devices[i].busy_s);
    CHECK(sink.summary().devices[i].peak_memory_bytes == direct.devices[i].peak_memory_bytes);
  }
}
