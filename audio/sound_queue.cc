#include "audio/sound_queue.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "models/dims.h"

namespace sotto {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(100);
constexpr size_t kLeast = kSampleRate / 50;  // that wakes the listener

}  // namespace

size_t SoundQueue::push(std::span<const float> samples, bool wait) {
  std::unique_lock lock(mutex_);
  size_t done = 0;
  while (true) {
    const size_t room = static_cast<size_t>(std::max<int64_t>(0, most_ - std::ssize(samples_)));
    const auto part = samples.subspan(done, std::min(room, samples.size() - done));
    samples_.insert(samples_.end(), part.begin(), part.end());
    done += part.size();
    if (samples_.size() >= kLeast) changed_.notify_all();
    if (done == samples.size() || !wait || closed_) return done;
    changed_.wait(lock);
  }
}

void SoundQueue::notice(const std::string& sentence) {
  const std::lock_guard lock(mutex_);
  notices_.push_back(sentence);
}

void SoundQueue::close() { close(nullptr); }

void SoundQueue::close(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  error_ = error;
  changed_.notify_all();
}

bool SoundQueue::read(std::vector<float>& out) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kPatience, [this] { return samples_.size() >= kLeast || closed_; });
  out.insert(out.end(), samples_.begin(), samples_.end());
  const bool got_some = !samples_.empty();
  samples_.clear();
  changed_.notify_all();
  if (!closed_ || got_some) return true;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return false;
}

double SoundQueue::waiting_s() const {
  const std::lock_guard lock(mutex_);
  return static_cast<double>(samples_.size()) / kSampleRate;
}

std::vector<std::string> SoundQueue::take_notices() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notices_, {});
}

}  // namespace sotto
