// Vectors of kLanes floats in plain C++. A file for one instruction set defines kLanes in sotto's anonymous namespace
// and then includes this: nothing here may be shared between instruction sets by the linker.
#pragma once

#define SOTTO_INLINE inline __attribute__((always_inline))

namespace sotto {
namespace {

typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float))));
typedef float UnalignedLanes __attribute__((vector_size(kLanes * sizeof(float)), aligned(alignof(float)), may_alias));
typedef int IntLanes __attribute__((vector_size(kLanes * sizeof(int))));

SOTTO_INLINE Lanes load(const float* from) { return *reinterpret_cast<const UnalignedLanes*>(from); }
SOTTO_INLINE void store(float* to, Lanes value) { *reinterpret_cast<UnalignedLanes*>(to) = value; }

}  // namespace
}  // namespace sotto
