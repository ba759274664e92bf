#include "analysis/csv_report.hpp"

#include <catch2/catch.hpp>

#include "tests/analysis/runs.hpp"

using namespace pipewright;
using analysis::csv_summary;

TEST_CASE("CSV has a row a device under named units", "[report]") {
  const analysis::Summary summary = analysis::summarize(test::two_device_run());
  CHECK(csv_summary({&summary, 1}) ==
        "schedule,device,host,busy_s,start_s,end_s,exposed_communication_s,"
        "peak_in_flight_microbatches,peak_memory_bytes,memory_capacity_bytes,passes,chunks,"
        "engine,p2p,makespan_s,model,gpu,tp,cp,ep,dp,pp,zero,global_batch_samples,"
        "microbatch_samples,sequence_tokens,recompute\n"
        "1f1b,0,left,6,0,10,1,2,7516192768,8589934592,4,1,timing,eager,10,,,,,,,,,,,,\n"
        "1f1b,1,right,6,1.5,7.5,0.5,1,2147483648,,4,1,timing,eager,10,,,,,,,,,,,,\n");
}

TEST_CASE("CSV quotes what would break a row", "[report]") {
  analysis::Summary summary;
  summary.run.schedule = "a,b";
  summary.devices.resize(1);
  summary.devices[0].host = "the \"big\"\none";
  const std::string text = csv_summary({&summary, 1});
  CHECK(text.find("\n\"a,b\",0,\"the \"\"big\"\"\none\",0,") != std::string::npos);
}
