#pragma once

#include <span>
#include <string_view>

#include "sim/cli/requests/connection.hpp"

// Requests that Python's package sends to its worker, the program. A request is answered in the
// client's folder and with its library of platforms, and a long one in a process of its own. An
// answer function sends intermediate messages and returns the last one.
namespace pipewright::cli {

struct Request {
  std::string_view name;
  Json (*answer)(Message& request, const Connection& client);
  bool is_short = false;  // needs no simulator, and leaves no trace in the worker that answers
};
std::span<const Request> requests();

// {"scenario": tree, "rows": true, "progress": false} -> for each schedule {"run": summary,
// "took_s": .., "packing": ..} with its rows in a shared block of memory, then {"notes": [..]}.
// With progress, also {"progress": {"schedule": "1f1b", "done": 8192, "of": 65536}}, in passes,
// while a schedule is simulated.
Json answer_run(Message& request, const Connection& client);

// {"tree": tree, "changes": [["parallel.tp", tree or null], ..], "check": true} -> {"tree": tree,
// "yaml": .., "checked": {..}}, the scenario with the changes; null removes a key. {"file": ..} or
// {"text": .., "name": ..} may replace the tree; errors in the text state the name.
Json answer_scenario(Message& request, const Connection& client);
// {} -> {"keys": [{"name": "parallel.tp", "alias": "tensor", ..}, ..], "versions": ".."}, the keys
// of a scenario, and the versions of the program and of SimGrid.
Json answer_keys(Message& request, const Connection& client);

// {"words": ["train.sh", "NNODES=8"]}, a job of another framework -> its scenario, and for each key
// the flag that it comes from.
Json answer_import(Message& request, const Connection& client);
// {"scenario": tree, "framework": "megatron"} -> {"text": .., ..}, a script that launches the job.
Json answer_export(Message& request, const Connection& client);
// {"of": "gpus", "extension": ".yaml"} -> {"names": [..]}, names in a folder of the library.
Json answer_library(Message& request, const Connection& client);

// {"words": ["comm", "bench", ..], "input": ..} -> {"status": 0, "output": .., "notes": ..}. Runs a
// command with this standard input and returns its output.
Json answer_command(Message& request, const Connection& client);

// {"words": ["sweep.yaml", ..], "sweep": tree, ..}, words of `pipewright search` and optionally a
// tree instead of a file -> {"process": ..}, a process to interrupt; {"progress": ..} ten times a
// second; then an answer like that of answer_command.
Json answer_search(Message& request, const Connection& client);
// {"file": "run.h5"} -> {"run": summary, "packing": ..} with the rows of a trace file in a shared
// block of memory, then {"schedule": ..}.
Json answer_open(Message& request, const Connection& client);
// Requests about finished runs, {"runs": [{"run": .., "packing": ..}, ..]} with their blocks.
// describe: texts and a table. save: writes {"file": .., "picture": .., "is_trace": false}. why:
// explains the time of a run, {"jobs": .., "what_if": ..}, and sends {"done": .., "of": ..}
// meanwhile. compare: differences from the first run, {"names": .., "conditions": ..}.
Json answer_describe(Message& request, const Connection& client);
Json answer_save(Message& request, const Connection& client);
Json answer_why(Message& request, const Connection& client);
Json answer_compare(Message& request, const Connection& client);

// Describes an exception as JSON, so that the client can raise it: {"kind": "ScenarioError",
// "found": .., ..}.
Json describe_error(const std::exception& error);

}  // namespace pipewright::cli
