#pragma once

#include <span>
#include <string_view>

#include "sim/cli/requests/connection.hpp"

// What the worker of another program's package does when it is asked. Each runs in a process of its
// own, in the asker's folder and with its environment; it says what it has as it goes on, and
// returns what it says last.
namespace pipewright::cli {

struct Request {
  std::string_view name;
  // `say` may be called any number of times before.
  Json (*answer)(Message& asked, const Connection& say);
};
std::span<const Request> requests();

// {"scenario": tree, "rows": true} -> {"run": summary, "took_s": .., "packing": ..} with a block of
// rows for each schedule, then {"notes": [..]}.
Json answer_run(Message& asked, const Connection& say);

// {"words": ["train.sh", "NNODES=8"]} of another framework -> its scenario, and the flag that each
// key comes from.
Json answer_import(Message& asked, const Connection& say);
// {"scenario": tree, "framework": "megatron"} -> {"text": .., ..}: what starts it there.
Json answer_export(Message& asked, const Connection& say);
// {"of": "gpus", "extension": ".yaml"} -> {"names": [..]}, what the library has there.
Json answer_library(Message& asked, const Connection& say);

// {"words": ["comm", "bench", ..], "input": ..} -> {"status": 0, "output": .., "notes": ..}: a
// command as it is called, what it reads from standard input, and what it prints.
Json answer_command(Message& asked, const Connection& say);

// {"words": ["sweep.yaml", ..], "sweep": tree, ..} of `pipewright search`, with a tree for a file
// ->
// {"process": ..}, to which an interrupt may be sent, and {"progress": ..} ten times a second; then
// as a command.
Json answer_search(Message& asked, const Connection& say);
// Of runs that were answered so, {"runs": [{"run": .., "packing": ..}, ..]} with their blocks:
// the texts and the table that describe them; a file of them, {"file": .., "picture": ..,
// "is_trace": false}; why one takes its time, {"jobs": .., "what_if": ..}, with {"done": .., "of":
// ..} meanwhile; and how they differ from the first, {"names": .., "conditions": ..}.
Json answer_describe(Message& asked, const Connection& say);
Json answer_save(Message& asked, const Connection& say);
Json answer_why(Message& asked, const Connection& say);
Json answer_compare(Message& asked, const Connection& say);

// An exception as what the asker raises: {"kind": "ScenarioError", "text": .., ..}.
Json describe_error(const std::exception& error);

}  // namespace pipewright::cli
