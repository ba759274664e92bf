#pragma once

namespace pipewright::cli {

// `pipewright --serve`: answers requests that come over the socket that standard input is, one at a
// time, until its other end is closed. For packages that run pipewright, such as Python's.
int serve_command();

}  // namespace pipewright::cli
