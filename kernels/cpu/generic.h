// All kernels, for whichever instruction set includes this inside its own namespace. It has defined before:
//   vf, vi            vectors of kLanes f32 and int32
//   kLanes, kVectors  lanes of a vector; vectors across a panel
//   kTileRows         rows of the register tile
//   SOTTO_HAS_F16, SOTTO_HAS_BF16  if it has these types; load_f16 and store_f16, dot_bf16, load_bf16 and store_bf16 then
//   SOTTO_WEIGHS_BESIDE  if a tile leaves registers for other work
//   SOTTO_HAS_I8      if dot_u8_i8 is one instruction
// and the functions splat, splat_i32, load_f32, load_i32, store_f32, store_i32, store_u8 (of 4 vectors of integers that are
// cut to 0...255), gather_i32 (every stride-th word), fma, max, abs, reciprocal, round_i32, from_i32, fraction,
// times_power_of_2, sum_of, sums_of, largest_of, any_at_least and dot_u8_i8. Only raw loops here: an inline library
// function compiled for one instruction set could be the copy that the linker keeps for all.

typedef int32_t __attribute__((may_alias)) int32_a;
constexpr int kHead64 = 64;
constexpr int kPastLimit = 448;
#ifdef SOTTO_HAS_F16
constexpr Type kHalfStorage = Type::f16;
#else
constexpr Type kHalfStorage = Type::f32;
#endif

#include "kernels/cpu/generic_rows.h"
#include "kernels/cpu/generic_product.h"
#include "kernels/cpu/generic_attention.h"
#include "kernels/cpu/generic_step.h"

#ifdef SOTTO_HAS_F16
#define SOTTO_F16(...) __VA_ARGS__
#else
#define SOTTO_F16(...) nullptr
#endif
#ifdef SOTTO_HAS_BF16
#define SOTTO_BF16(...) __VA_ARGS__
constexpr bool kHasBf16 = true;
#else
#define SOTTO_BF16(...) nullptr
constexpr bool kHasBf16 = false;
#endif

#ifdef SOTTO_HAS_I8
constexpr bool kHasI8 = true;
#else
constexpr bool kHasI8 = false;
#endif

static constexpr Kernels table(const char* name) {
  return {
      .name = name,
      .panel = kPanel,
      .native_bf16 = kHasBf16,
      .native_i8 = kHasI8,
      .half_storage = kHalfStorage,
      .product = {product<OfF32>, SOTTO_F16(product<OfF16>), SOTTO_BF16(product<OfBf16>), product<OfI8>},
      .norm = {norm<ToF32>, norm<ToF32>, SOTTO_BF16(norm<ToBf16>), norm<ToI8>},
      .operand = {operand<ToF32>, operand<ToF32>, SOTTO_BF16(operand<ToBf16>), operand<ToI8>},
      .operand_and_rest = operand_and_rest,
      .attention = {attention<OfF32>, SOTTO_F16(attention<OfF16>), SOTTO_BF16(attention<OfBf16>), attention<OfI8>},
      .pack_keys = {pack_keys<StoreF32>, SOTTO_F16(pack_keys<StoreF16>), SOTTO_BF16(pack_keys<StoreBf16>), pack_keys_i8},
      .pack_values = {pack_values<StoreF32>, SOTTO_F16(pack_values<StoreF16>), SOTTO_BF16(pack_values<StoreBf16>),
                      pack_values_i8},
      .past_attention = {past_attention<StoreF32>, SOTTO_F16(past_attention<StoreF16>), nullptr, nullptr},
      .store_past = {store_past<StoreF32>, SOTTO_F16(store_past<StoreF16>), nullptr, nullptr},
      .scan = scan,
      .multiply = {multiply<OfF32>, SOTTO_F16(multiply<OfF32>), SOTTO_BF16(multiply<OfBf16>), multiply<OfI8>},
      .multiply_ops = {multiply_ops(1), multiply_ops(1), multiply_ops(2), multiply_ops(4)},
      .read = read,
  };
}
