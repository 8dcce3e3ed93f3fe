#pragma once

#include <string>
#include <vector>

namespace sotto {

// `sotto devices`: the microphones there are. Words after the command's name. Throws CLI::ParseError.
int devices_command(const std::vector<std::string>& written);

}  // namespace sotto
