#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace pipewright::base {

// Returns a text with small letters in place of capitals: "GB200" becomes "gb200".
inline std::string lowercase(std::string_view text) {
  std::string letters(text);
  std::ranges::transform(letters, letters.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return letters;
}

// Returns the letters and digits of a text, in lowercase: "Llama-3 8B" becomes "llama38b".
inline std::string letters_and_digits(std::string_view text) {
  std::string letters = lowercase(text);
  std::erase_if(letters, [](unsigned char c) { return std::isalnum(c) == 0; });
  return letters;
}

}  // namespace pipewright::base
