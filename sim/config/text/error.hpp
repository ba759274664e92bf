#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

// Errors in the user's input, stored in parts. Programs write their text at the edge.
namespace pipewright::config {

// Place in a file or elsewhere where a user wrote something. In files, lines and columns count from
// 1; values from command lines and other programs have none.
struct Origin {
  std::string source;       // path of the file, or a text such as "--set schedule.chunks"
  int line = 0;             // 0: `source` alone is the location
  int column = 0;           // in bytes; 0: unknown
  std::string folder = {};  // start of relative paths written here; empty: the current folder
  std::string key = {};     // dotted key of the scenario, "parallel.tp"; empty: unknown

  // Compares the locations without `key`, which follows from them.
  bool operator==(const Origin& rhs) const;
};

// Formats a location: "gpt.yaml:7:12", "gpt.yaml:7" if the column is unknown, "--set devices", or
// "" for an empty origin.
std::string to_string(const Origin& origin);

// A message together with the location that it is about; converts to "gpt.yaml:7:12: message".
struct LocatedMessage {
  Origin location;
  std::string message;

  // NOLINTNEXTLINE(google-explicit-constructor)
  operator std::string() const;
};

LocatedMessage locate(const Origin& origin, std::string_view message);

// Parts of an error, common to all kinds of errors. what() joins them for a terminal:
// "gpt.yaml:7:12: engine is simgird; did you mean 'simgrid'? allowed: one of simgrid, timing".
class StructuredError : public std::runtime_error {
 public:
  const Origin& location() const { return location_; }  // empty source: unknown
  const std::string& key() const;                       // dotted; may be empty
  const std::string& found() const { return found_; }
  const std::string& allowed() const { return allowed_; }
  const std::string& suggestion() const { return suggestion_; }  // advice, or a name
  bool suggests_name() const { return suggests_name_; }
  std::string message() const;  // the text without the location
  const char* what() const noexcept override { return text_.c_str(); }

 protected:
  StructuredError(const Origin& location, std::string_view found, std::string_view key);

  void set_allowed(std::string_view allowed);
  void set_advice(std::string_view advice);
  void set_name(std::string_view name);
  void set_option(std::string_view option);
  void set_location(const Origin& location);
  void set_place(const Origin& location, std::string_view key);
  void add_subject(const Origin& location, std::string_view subject);

 private:
  void update_text();

  Origin location_;
  std::string key_;
  std::string found_;
  std::string allowed_;
  std::string suggestion_;
  bool suggests_name_ = false;
  std::string option_;
  std::string text_;
};

// Base of an exception type `Kind`, whose parts can be added in the expression that throws it.
template <class Kind>
class ErrorOf : public StructuredError {
 public:
  // `found` says what is wrong, as a clause that usually begins with the key.
  explicit ErrorOf(std::string_view found) : StructuredError({}, found, {}) {}
  ErrorOf(const Origin& location, std::string_view found, std::string_view key = {})
      : StructuredError(location, found, key) {}
  explicit ErrorOf(const LocatedMessage& found) : ErrorOf(found.location, found.message) {}
  // Copies the parts of an error of another kind.
  explicit ErrorOf(const StructuredError& error) : StructuredError(error) {}

  // Adds what is allowed: "a whole number from 1 to 8".
  Kind& allow(std::string_view allowed) {
    set_allowed(allowed);
    return self();
  }
  // Adds advice on how to correct the error, as an imperative: "leave out one of them".
  Kind& suggest(std::string_view advice) {
    set_advice(advice);
    return self();
  }
  // Adds the name that the user probably meant; an empty one is ignored.
  Kind& suggest_name(std::string_view name) {
    set_name(name);
    return self();
  }
  // Adds the command-line option that sets a missing key: "-s/--num-stages".
  Kind& offer_option(std::string_view option) {
    set_option(option);
    return self();
  }

  // Returns a copy that gets this location and this key if the error has none of its own.
  Kind at(const Origin& location, std::string_view key = {}) const {
    Kind error = static_cast<const Kind&>(*this);
    error.set_place(location, key);
    return error;
  }
  // Returns a copy with this location.
  Kind relocated(const Origin& location) const {
    Kind error = static_cast<const Kind&>(*this);
    error.set_location(location);
    return error;
  }
  // Returns a copy with this location, whose message begins with "subject: ".
  Kind within(const Origin& location, std::string_view subject) const {
    Kind error = static_cast<const Kind&>(*this);
    error.add_subject(location, subject);
    return error;
  }

 private:
  Kind& self() { return static_cast<Kind&>(*this); }
};

// An error in a scenario, or in a file that a scenario names.
struct Error : ErrorOf<Error> {
  using ErrorOf::ErrorOf;
};

// Makes a user's text printable and cuts it after 60 bytes, for messages; in_quotes() adds quotes.
std::string shown(std::string_view text);
std::string in_quotes(std::string_view text);

}  // namespace pipewright::config
