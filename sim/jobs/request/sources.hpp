#pragma once

#include <optional>
#include <string>
#include <string_view>

// Files of jobs.
namespace pipewright::jobs {

struct Source {
  std::string name;  // path
  std::string text;
};

// Reads a file. Throws config::Error if the path is not a file, or the file is too large for a job.
Source read_source(const std::string& file);

// Reads a file that the job's file `origin` names. It is looked for in the folder of that file and
// in the folders above, since jobs start in a folder of the repository. None if it is not there. A
// path that begins with an unknown folder, as in $HOME/job/ds.json, is looked for without that
// folder.
std::optional<Source> find_source(const std::string& written, const std::string& origin);

// Text of a file, without comments, with the tests by which frameworks recognise their files.
class SourceText {
 public:
  explicit SourceText(const Source& source);

  const std::string& text() const { return text_; }            // without comments
  const std::string& extension() const { return extension_; }  // ".yaml"
  bool has(std::string_view words) const { return text_.find(words) != std::string::npos; }
  bool is_json() const;
  bool is_yaml() const { return extension_ == ".yaml" || extension_ == ".yml"; }
  // True if the text may be a shell script or a command line.
  bool may_be_shell() const;

 private:
  std::string text_;
  std::string extension_;
};

// Type of GPU in a file name, such as "h100" for "config_DGXH100_64x8"; empty if there is none.
std::string gpu_in(std::string_view text);

}  // namespace pipewright::jobs
