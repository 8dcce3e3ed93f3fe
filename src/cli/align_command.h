// sotto align AUDIO TEXT: times for a transcript or subtitles that are there.
#pragma once

#include <string>
#include <vector>

namespace sotto {

// Takes the words behind its name and gives the exit status. Throws CLI::ParseError and Error.
int align_command(const std::vector<std::string>& words);

}  // namespace sotto
