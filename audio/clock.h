// The clock that live sound comes by: that on the wall, or one that only runs while somebody waits or computes.
#pragma once

namespace sotto {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual double now_s() const = 0;              // since the clock was made
  virtual void wait_until(double time_s) = 0;
  virtual double waited_s() const = 0;  // in all
};

// The wall's, or one that goes `speed` times as fast.
class WallClock : public Clock {
 public:
  explicit WallClock(double speed = 1);
  double now_s() const override;
  void wait_until(double time_s) override;
  double waited_s() const override { return waited_s_; }

 private:
  double speed_, start_s_, waited_s_ = 0;
};

// Waiting takes no time, and computing takes the processor time of this process, divided by its threads: what a machine
// takes that does nothing else, if its threads share all of the work. It makes figures on a busy machine comparable; what
// a user waits for is told by WallClock alone.
class ComputingClock : public Clock {
 public:
  explicit ComputingClock(int threads, double speed = 1);  // speed: of the sound, as that of WallClock
  double now_s() const override;
  void wait_until(double time_s) override;
  double waited_s() const override { return waited_s_; }

 private:
  double per_s_;  // of processor time
  double start_s_, waited_s_ = 0;
};

double processor_time_s();  // of all threads of this process

}  // namespace sotto
