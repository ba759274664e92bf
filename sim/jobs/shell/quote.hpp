#pragma once

#include <string>
#include <string_view>

namespace pipewright::jobs {

// `text` as one word of a POSIX shell: in single quotes unless all characters are plain, so that
// the shell neither splits nor expands it. Everything that writes scripts quotes by this function.
std::string shell_word(std::string_view text);

}  // namespace pipewright::jobs
