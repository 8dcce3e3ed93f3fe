// The vector of NEON where it has more than vector_any.h; included inside a namespace, after it.
static inline vf load_f16(const uint16_t* x) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x))); }
static inline void store_f16(uint16_t* to, vf x) { vst1_u16(to, vreinterpret_u16_f16(vcvt_f16_f32(x))); }
