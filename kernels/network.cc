#include "kernels/network.h"

#include <string>
#include <utility>

#include "kernels/cpu/cpu_network.h"
#include "kernels/decode.h"
#include "kernels/reference/reference.h"
#include "models/error.h"

namespace sotto {

std::unique_ptr<Network> open_network(std::shared_ptr<const Weights> weights, const NetworkOptions& options) {
  CHECK_INVARIANT(weights != nullptr && options.slots >= 1 && options.max_rows >= 1);
  if (options.max_rows > kMaxRows) {
    throw Error(std::to_string(options.max_rows) + " beams or samples are more than the " + std::to_string(kMaxRows) +
                " that one window can have: use a smaller beam size and best-of");
  }
  if (options.engine == "reference") return reference::open(std::move(weights), options);
  if (options.engine.empty() || options.engine == "auto" || options.engine == "cpu") {
    return cpu::open(std::move(weights), options);
  }
  throw Error("engine \"" + options.engine + "\" is not known: use auto, cpu or reference");
}

}  // namespace sotto
