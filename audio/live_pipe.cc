#include <atomic>
#include <exception>
#include <thread>

#include "audio/live_source.h"
#include "audio/mono_resampler.h"
#include "audio/sound_queue.h"
#include "audio/source.h"
#include "models/dims.h"

namespace sotto {
namespace {

constexpr int64_t kMostWaiting = 30 * kSampleRate;  // beyond that, whoever writes into the pipe has to wait

// A thread decodes what arrives, as it arrives. Opening waits for the first of it, so that is done there, too.
class LivePipe : public LiveSource {
 public:
  LivePipe(const std::string& path, const DecodeOptions& options)
      : path_(path), options_(options), queue_(kMostWaiting), thread_([this] { run(); }) {}

  ~LivePipe() override {
    stop_ = true;
    queue_.close();
    thread_.join();
  }

  bool read(std::vector<float>& out) override { return queue_.read(out); }
  double waiting_s() const override { return queue_.waiting_s(); }
  std::vector<std::string> take_notices() override { return queue_.take_notices(); }

 private:
  void run() {
    try {
      options_.stop = &stop_;
      Source source(path_, options_);
      MonoResampler resampler;
      std::vector<float> sound;
      while (const av::Frame frame = source.next()) {
        resampler.push(*frame, sound);
        queue_.push(sound, true);
        sound.clear();
        if (stop_) return;
      }
      resampler.flush(sound);
      queue_.push(sound, true);
      if (source.damaged() > 0)
        queue_.notice(source.name() + ": " + std::to_string(source.damaged()) + " pieces of it could not be decoded");
      if (source.stopped_early()) queue_.notice(source.name() + " can't be read any further: " + source.read_error());
      queue_.close();
    } catch (...) {
      queue_.close(std::current_exception());
    }
  }

  const std::string path_;
  DecodeOptions options_;
  std::atomic<bool> stop_ = false;
  SoundQueue queue_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<LiveSource> listen_to_pipe(const std::string& path, const DecodeOptions& options) {
  return std::make_unique<LivePipe>(path, options);
}

}  // namespace sotto
