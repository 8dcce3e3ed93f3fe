#include <algorithm>
#include <cstdint>
#include <utility>

#include "audio/live_source.h"
#include "models/dims.h"

namespace sotto {
namespace {

constexpr int64_t kBlock = kSampleRate / 50;  // as sound cards give it

class PlayedFile : public LiveSource {
 public:
  PlayedFile(const std::string& path, const DecodeOptions& options, Clock& clock)
      : clock_(clock), start_s_(clock.now_s()), decoder_(path, options) {}

  bool read(std::vector<float>& out) override {
    clock_.wait_until(start_s_ + static_cast<double>(given_ + kBlock) / kSampleRate);
    const int64_t due = played();
    while (!ended_ && decoded_ < due) decode();
    const auto first = ready_.begin(), last = first + std::min<int64_t>(due - given_, std::ssize(ready_));
    out.insert(out.end(), first, last);
    given_ += last - first;
    ready_.erase(first, last);
    return !(ended_ && ready_.empty());
  }

  double waiting_s() const override { return static_cast<double>(std::max<int64_t>(0, played() - given_)) / kSampleRate; }

  std::vector<std::string> take_notices() override { return decoder_.take_warnings(); }

 private:
  // Samples that have been heard by now, in whole blocks.
  int64_t played() const {
    const auto heard = static_cast<int64_t>((clock_.now_s() - start_s_) * kSampleRate + 0.5);
    const int64_t whole = heard / kBlock * kBlock;
    return ended_ ? std::min(whole, decoded_) : whole;
  }

  void decode() {
    Pcm pcm;
    ended_ = !decoder_.read(pcm);
    ready_.insert(ready_.end(), pcm.samples.begin(), pcm.samples.end());
    decoded_ += std::ssize(pcm.samples);
  }

  Clock& clock_;
  const double start_s_;
  Decoder decoder_;
  std::vector<float> ready_;  // decoded, not yet given
  int64_t decoded_ = 0, given_ = 0;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<LiveSource> play_file(const std::string& path, const DecodeOptions& options, Clock& clock) {
  return std::make_unique<PlayedFile>(path, options, clock);
}

}  // namespace sotto
