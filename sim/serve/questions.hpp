#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

// What the page asks. Each question is answered in a process of its own, as SimGrid has one engine
// a process, by lines of JSON; what is thrown is the text of its failure.
namespace pipewright::serve {

// Where the server works.
struct Place {
  std::filesystem::path project;  // whose files scenarios may name; the current folder
  std::filesystem::path results;  // pages and traces of runs
  std::size_t jobs = 1;           // simulations that a question may have at a time
};

using Say = std::function<void(const std::string& line)>;

struct Question {
  std::string asked;  // the JSON that the page sent
  std::string id;     // of its result, for names of files: "r12"
};

// {text, edits: [[key, value]..]} -> {"scenario": {text, values}}; {"estimate": run}, of the engine
// without contention, as soon as it is known; {"result": {id, subject, runs: [run], notes}}. A run
// is {name, details, iterations, summary}. A scenario that cannot be is {"fault": ..}.
void answer_run(const Question& question, const Place& place, const Say& say);

// {id} -> {"row": ..} each as it comes, {"done": n, "of": m}, and {"what_if": {rerun_s, notes,
// rows}}.
void answer_what_if(const Question& question, const Place& place, const Say& say);

// {variants: [{id, name}..]} -> {"page": id}: one page of their runs.
void answer_compare(const Question& question, const Place& place, const Say& say);

// {text, framework} -> {"launch": {name, text, differs, beside_name, beside}}
void answer_launch(const Question& question, const Place& place, const Say& say);

// Frameworks that answer_launch() knows; the models, clusters, schedules and keys that there are,
// and files of the project that may be named: what the form is made of, as JSON.
std::string form_json(const Place& place);

// Whether a name is one of a result, and so of its files.
bool is_result(const std::string& id);

}  // namespace pipewright::serve
