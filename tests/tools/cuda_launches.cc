// Prints the kernels that the CUDA engine starts, over all model sizes, precisions, chips and batches: name, threads of a
// block, and the most shared memory that a block of it is given. For tests/cuda/check_cubins.py.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/decode_step.h"
#include "kernels/cuda/encode.h"

namespace {

using namespace sotto;
using namespace sotto::cuda;

std::map<std::string, std::pair<uint32_t, uint32_t>> kernels;

void add(const std::vector<Launch>& launches) {
  for (const Launch& launch : launches) {
    auto& [threads, shared] = kernels[launch.kernel];
    threads = launch.shape.threads;
    shared = std::max(shared, launch.shape.shared_bytes);
  }
}

void add_model(const Dims& dims) {
  for (Half half : {Half::f16, Half::bf16}) {
    for (int sms : {16, 46, 82, 108, 132, 148, 170}) {
      for (int windows = 1; windows <= 8; windows++) {
        add(encode_launches({dims, half, sms, windows, nullptr, nullptr, nullptr, nullptr}, encoder_weights(dims, nullptr),
                            encoder_buffers(dims, windows, nullptr)));
      }
    }
  }
  for (WeightType type : {WeightType::f16, WeightType::bf16, WeightType::i8}) {
    Decoder decoder = {{dims, type, 8, 5, 6}, decoder_weights(dims, type, nullptr), {}, nullptr, nullptr};
    decoder.buffers = decoder_buffers(decoder.plan, nullptr);
    for (int rows : kRowClasses) {
      add(step_launches(decoder, {0, 8, rows, 8}, nullptr));
      add(prompt_launches(decoder, rows, 4, {{0, 0}}));
    }
    for (int rows : {1, 64}) add(wanted_launches(decoder, rows, reinterpret_cast<RowProbabilities*>(256)));
  }
}

}  // namespace

int main() {
  for (const Dims& dims : {Dims{384, 6, 4, 4, 80, 51865}, Dims{512, 8, 6, 6, 80, 51865}, Dims{768, 12, 12, 12, 80, 51865},
                           Dims{1024, 16, 24, 24, 80, 51865}, Dims{1280, 20, 32, 32, 80, 51865},
                           Dims{1280, 20, 32, 32, 128, 51866}}) {
    add_model(dims);
  }
  for (const auto& [name, shape] : kernels) std::printf("%s %u %u\n", name.c_str(), shape.first, shape.second);
}
