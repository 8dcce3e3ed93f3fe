// sotto view FILE.json: a transcript as a page to read, listen to and search.
#pragma once

#include <string>
#include <vector>

namespace sotto {

// Takes the words behind its name and gives the exit status. Throws CLI::ParseError and Error.
int view_command(const std::vector<std::string>& words);

}  // namespace sotto
