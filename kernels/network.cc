#include "kernels/network.h"

#include <string>
#include <utility>

#include "kernels/cpu/cpu_network.h"
#include "kernels/cuda/cuda_network.h"
#include "kernels/decode.h"
#include "kernels/reference/reference.h"
#include "models/error.h"

namespace sotto {

bool is_device(const std::string& name) {
  constexpr char kNumbered[] = "cuda:";
  constexpr size_t kBegin = sizeof kNumbered - 1, kMostDigits = 4;
  if (name.starts_with(kNumbered)) {
    return name.size() > kBegin && name.size() <= kBegin + kMostDigits &&
           name.find_first_not_of("0123456789", kBegin) == std::string::npos;
  }
  return name == "auto" || name == "cpu" || name == "cuda" || (name == "cuda-sim" && cuda::simulated());
}

bool leaves_device_open(const NetworkOptions& options) {
  const auto any = [](const std::string& name) { return name.empty() || name == "auto"; };
  return any(options.engine) && any(options.device) && any(options.isa);
}

std::unique_ptr<Network> open_network(std::shared_ptr<const Weights> weights, const NetworkOptions& options) {
  CHECK_INVARIANT(weights != nullptr && options.slots >= 1 && options.max_rows >= 1);
  if (options.max_rows > kMaxRows) {
    throw Error(std::to_string(options.max_rows) + " beams or samples are more than the " + std::to_string(kMaxRows) +
                " that one window can have: use a smaller beam size and best-of");
  }
  if (!options.device.empty() && !is_device(options.device)) {
    throw Error("device \"" + options.device + "\" is not known: use one of " + kDevices);
  }
  const bool any_engine = options.engine.empty() || options.engine == "auto";
  const bool of_gpu = options.device.starts_with("cuda");
  if (of_gpu && !any_engine && options.warn) {
    options.warn("the engine " + options.engine + " doesn't run on a GPU; the processor does the work");
  }
  if ((of_gpu && any_engine) || (leaves_device_open(options) && cuda::find_gpu() != cuda::Found::none)) {
    try {
      return cuda::open(weights, options);
    } catch (const Error& error) {
      if (options.warn) options.warn(std::string(error.what()) + "; the processor does the work");
    }
  }
  if (options.engine == "reference") return reference::open(std::move(weights), options);
  if (options.engine.empty() || options.engine == "auto" || options.engine == "cpu") {
    NetworkOptions of_processor = options;
    if (options.precision == "f16" && options.device != "cpu") {  // asked for with a GPU in mind; f32 loses nothing of it
      of_processor.precision = "f32";
      if (options.warn) options.warn("f16 is a GPU's arithmetic; the processor's is f32");
    }
    return cpu::open(std::move(weights), of_processor);
  }
  throw Error("engine \"" + options.engine + "\" is not known: use auto, cpu or reference");
}

}  // namespace sotto
