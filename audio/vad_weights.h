// The voice activity network's weights, from an ONNX file into the layout of the arithmetic.
#pragma once

#include <string>
#include <vector>

#include "audio/vad_network.h"

namespace sotto {

class VadParameters {
 public:
  // Throws Error for a file that can't be read or isn't that network.
  explicit VadParameters(const std::string& path);

  VadWeights view() const;

 private:
  std::vector<float> stft_, conv1_, conv2_, conv3_, conv4_, lstm_input_, lstm_state_;
  std::vector<float> conv1_bias_, conv2_bias_, conv3_bias_, conv4_bias_, lstm_bias_, last_;
  float last_bias_;
};

}  // namespace sotto
