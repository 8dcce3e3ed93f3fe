// Prints the kernels that the CUDA engine starts, over all model sizes, precisions, chips and batches, and the products'
// tiles that a table may come to ask for: name, threads of a block, and the most shared memory that a block of it is given.
// For tests/cuda/check_cubins.py.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/decode_step.h"
#include "kernels/cuda/encode.h"
#include "kernels/cuda/memory_plan.h"

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
    for (int sms : {16, 58, 72, 82, 108, 128, 132, 148, 170}) {
      for (int windows = 1; windows <= kMaxEncodeWindows; windows++) {
        for (bool bytes : {false, true}) {
          add(encode_launches({dims, half, sms, windows, nullptr, nullptr, nullptr, nullptr, bytes},
                              encoder_weights(dims, nullptr, bytes), encoder_buffers(dims, windows, nullptr)));
        }
      }
    }
  }
  for (Half half : {Half::f16, Half::bf16}) {
    for (Product product : {Product::conv1, Product::conv2, Product::qkv, Product::out, Product::fc1, Product::fc2}) {
      for (int tile = 0; tile < kTileCount; tile++) {
        if (tile == kWideTile && (product == Product::conv1 || dims.width % kTiles[kWideTile].n != 0)) continue;
        for (int bins : {80, 128}) {
          const LaunchShape shape = product_shape(product, dims.width, dims.decoder_layers, kRows, tile);
          kernels[product_kernel(product, dims.width, bins, half, tile)] = {shape.threads, shape.shared_bytes};
        }
      }
    }
  }
  for (WeightType type : {WeightType::f16, WeightType::bf16, WeightType::i8}) {
    Decoder decoder = {{dims, type, 8, 5, 6}, decoder_weights(dims, type, nullptr), {}, nullptr, nullptr};
    decoder.buffers = decoder_buffers(decoder.plan, nullptr);
    for (int rows : kRowClasses) {
      add(step_launches(decoder, {0, 8, rows, 8}, nullptr));
      add(step_launches(decoder, {0, 8, rows, 8}, nullptr, {{0, 0}}));
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
