#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif

typedef struct gpuc_cpu_env gpuc_cpu_env;
struct gpuc_cpu_env {
    uint64_t struct_size;
    void (*parallel_for)(const gpuc_cpu_env *env, int64_t begin, int64_t end,
                         void (*body)(void *arg, int64_t begin, int64_t end), void *arg);
    void *host;
};

static inline float gpuc_bits_f32_u32(uint32_t a)
{
    float r;
    memcpy(&r, &a, sizeof r);
    return r;
}

static inline uint32_t gpuc_bits_u32_f32(float a)
{
    uint32_t r;
    memcpy(&r, &a, sizeof r);
    return r;
}

static inline float gpuc_fromhalf_f32_u16(uint16_t a)
{
#if defined(__F16C__)
    typedef short shorts __attribute__((vector_size(16)));
    return __builtin_ia32_vcvtph2ps((shorts){(short)a})[0];
#endif
    const uint32_t sign = (uint32_t)(a & 0x8000) << 16, x = (uint32_t)(a & 0x7fff) << 13;
    if (x >= 0x0f800000) return gpuc_bits_f32_u32(sign | 0x7f800000 | x);
    const float f = gpuc_bits_f32_u32(x) * 0x1p112f;
    return gpuc_bits_f32_u32(sign | gpuc_bits_u32_f32(f));
}

EXPORT int product(const gpuc_cpu_env *env, void *const *tensors, const int64_t *scalars)
{
    const uint16_t *restrict A = tensors[0];
    const uint16_t *restrict B = tensors[1];
    float *restrict C = tensors[2];
    float S[256];
    float P[256];
    float Q[256];
    float R[256];
    for (int32_t t = 0; t < 16; t++) {
        for (int32_t i = 0; i < 16; i++) {
            const int32_t i_1 = i * 16 + t;
            const float v = gpuc_fromhalf_f32_u16(B[i_1]);
            S[i_1] = v < 0.0f ? 0.0f : v;
        }
        for (int32_t turn = 0; turn < 16; turn++)
            R[t * 16 + turn] = 0.0f;
        for (int32_t turn_1 = 0; turn_1 < 16; turn_1++) {
            const int32_t i_2 = turn_1 * 16 + t;
            P[i_2] = gpuc_fromhalf_f32_u16(A[i_2]);
        }
        for (int32_t turn_2 = 0; turn_2 < 16; turn_2++) {
            const int32_t i_3 = turn_2 * 16 + t;
            Q[i_3] = S[i_3];
        }
    }
    for (int32_t t_1 = 0; t_1 < 16; t_1++) {
        for (int32_t turn_3 = 0; turn_3 < 16; turn_3++) {
            for (int32_t k = 0; k < 16; k++) {
                const int32_t i_4 = t_1 * 16 + turn_3;
                R[i_4] += P[turn_3 * 16 + k] * Q[k * 16 + t_1];
            }
        }
        for (int32_t turn_4 = 0; turn_4 < 16; turn_4++)
            C[turn_4 * 16 + t_1] = R[t_1 * 16 + turn_4];
    }
    return 0;
}
