#pragma once

namespace pipewright::cli {

// `pipewright --answer`: answers requests that come over the socket that standard input is, one at a
// time, until its other end is closed. For packages that run pipewright, such as Python's.
int answer_requests();

}  // namespace pipewright::cli
