// Small text files as a whole.
#pragma once

#include <string>

namespace sotto {

// A path in a message: "standard input" for "-".
std::string input_name(const std::string& path);

// In UTF-8 without a byte order mark, whether the file is in UTF-8 or UTF-16; lines end in '\n' whatever they ended in.
// path: "-" is standard input. Throws Error.
std::string read_text_file(const std::string& path);

}  // namespace sotto
