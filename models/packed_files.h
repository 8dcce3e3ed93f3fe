// The weights that an engine has packed for its kernels and keeps on the disk. They can all be made anew from a model,
// which takes a moment at its next use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sotto {

// sotto_home()/packed. The names of the files of one model begin with its Weights::digest and "-".
std::string packed_folder();

// The paths of one model's packed files; of all models', and whatever else lies there, without a digest.
std::vector<std::string> packed_files(const std::string& digest = "");

// Removes files; returns the bytes that this freed. One that is in use stays usable where it is.
int64_t remove_files(const std::vector<std::string>& paths);

}  // namespace sotto
