#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

// Functions that answer the questions of the page. Each runs in a process of its own, since SimGrid
// has one engine per process, and sends its answer as lines of JSON. If a function throws, the page
// shows the text of the exception.
namespace pipewright::serve {

// Folders that the server uses, and the number of simulations at a time.
struct Workspace {
  std::filesystem::path project;  // folder of the files that scenarios may name; the current folder
  std::filesystem::path results;  // pages and traces of runs
  std::size_t jobs = 1;           // simulations of a question at the same time
};

using SendLine = std::function<void(const std::string& line)>;

struct Question {
  std::string request;  // JSON from the page
  std::string id;       // name of its result and of its files: "r12"
};

// {text, edits: [[key, value]..]} -> {"scenario": {text, values}}; {"estimate": run} of the engine
// without contention, as soon as it is known; {"result": {id, subject, runs: [run], notes}}. A run
// is {name, details, iterations, summary}. An impossible scenario gives {"fault": ..}.
void answer_run(const Question& question, const Workspace& workspace, const SendLine& send);

// {id} -> {"row": ..} for each change, {"done": n, "of": m}, and {"what_if": {rerun_s, notes,
// rows}}.
void answer_what_if(const Question& question, const Workspace& workspace, const SendLine& send);

// Input {variants: [{id, name}..]}, output {"page": id}: makes a page that compares the runs of
// these results.
void answer_compare(const Question& question, const Workspace& workspace, const SendLine& send);

// {text, framework} -> {"launch": {name, text, differs, beside_name, beside}}
void answer_launch(const Question& question, const Workspace& workspace, const SendLine& send);

// Returns the choices of the form as JSON: frameworks of answer_launch(), models, clusters,
// schedules, keys, and files of the project that scenarios can name.
std::string form_json(const Workspace& workspace);

// Returns whether a text has the form of a result's name, such as "r12".
bool is_result(const std::string& id);

}  // namespace pipewright::serve
