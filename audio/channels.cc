#include "audio/channels.h"

#include <algorithm>
#include <vector>

#include "audio/levels.h"
#include "audio/source.h"

namespace sotto {

namespace {

constexpr double kDiffer = 0.01;  // of the energy: 20 dB below the sound; what a lossy codec does to a copy is less
constexpr double kClearly = 0.1;  // once so much has differed, the rest of the file needn't be read
constexpr double kEnoughS = 3;

double energy_of(const std::vector<float>& samples) {
  double energy = 0;
  for (const float x : samples) energy += double{x} * x;
  return energy;
}

}  // namespace

int separate_channels(const std::string& path, const DecodeOptions& options) {
  Source source(path, options);
  const int channels = source.channels();
  if (channels == 1) return 1;
  double energy = 0, difference = 0, heard_s = 0;  // of the loudest channel, and of the one that differs most
  std::vector<float> first, other;
  while (const av::Frame frame = source.next()) {
    const auto stamp = source.stamp(*frame);
    const double at_s = stamp ? static_cast<double>(*stamp) / frame->sample_rate : options.start_s;
    if (options.end_s && at_s > *options.end_s) break;
    if (at_s < options.start_s || !read_channel(*frame, 0, 0, first)) continue;
    double loudest = energy_of(first), most = 0;
    for (int c = 1; c < frame->ch_layout.nb_channels && read_channel(*frame, c, 0, other); ++c) {
      loudest = std::max(loudest, energy_of(other));
      for (size_t i = 0; i < other.size(); ++i) other[i] -= first[i];
      most = std::max(most, energy_of(other));
    }
    energy += loudest;
    difference += most;
    heard_s += static_cast<double>(frame->nb_samples) / frame->sample_rate;
    if (heard_s > kEnoughS && difference > kClearly * energy) return channels;
  }
  return difference > kDiffer * energy ? channels : 1;
}

}  // namespace sotto
