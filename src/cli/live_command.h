#pragma once

#include <string>
#include <vector>

namespace sotto {

// `sotto live`: captions of what is being said. Words after the command's name. Throws CLI::ParseError.
int live_command(const std::vector<std::string>& written);

}  // namespace sotto
