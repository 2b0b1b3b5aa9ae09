#include <stdint.h>

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

typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x8_any __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t i32x8 __attribute__((vector_size(32)));

static inline f32x8 gpuc_keep_f32x8(f32x8 a)
{
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#if 32 * 8 == 128 || (32 * 8 == 256 && defined(__AVX__)) || (32 * 8 == 512 && defined(__AVX512F__))
    __asm__("" : "+v"(a));
#endif
#endif
    return a;
}

static inline f32x8 gpuc_load_f32x8(const float *a)
{
    return *(const f32x8_any *)a;
}

static inline void gpuc_store_f32x8(float *a, f32x8 b)
{
    *(f32x8_any *)a = b;
}

static inline f32x8 gpuc_select_f32x8(i32x8 a, f32x8 b, f32x8 c)
{
    return (f32x8)((a & (i32x8)b) | (~a & (i32x8)c));
}

struct tile_args {
    const float *A;
    const float *B;
    float *C;
};

static void tile_body(void *arg, int64_t begin, int64_t end)
{
    const struct tile_args *args = arg;
    const float *restrict A = args->A;
    const float *restrict B = args->B;
    float *restrict C = args->C;
    for (int32_t i = (int32_t)begin; i < (int32_t)end; i++) {
        f32x8 acc[4];
        acc[0] = (f32x8){0};
        acc[1] = (f32x8){0};
        acc[2] = (f32x8){0};
        acc[3] = (f32x8){0};
        for (int32_t k = 0; k < 24; k++) {
            const f32x8 v = gpuc_keep_f32x8(gpuc_load_f32x8(&B[k * 16]));
            const f32x8 v_1 = gpuc_keep_f32x8(gpuc_load_f32x8(&B[k * 16 + 8]));
            const int32_t i_1 = i * 48 + k;
            acc[0] += A[i_1] * v;
            acc[1] += A[i_1] * v_1;
            acc[2] += A[i_1 + 24] * v;
            acc[3] += A[i_1 + 24] * v_1;
        }
        gpuc_store_f32x8(&C[i * 32], gpuc_select_f32x8(acc[0] < 0.0f, (f32x8){0}, acc[0]));
        gpuc_store_f32x8(&C[i * 32 + 8], gpuc_select_f32x8(acc[1] < 0.0f, (f32x8){0}, acc[1]));
        gpuc_store_f32x8(&C[i * 32 + 16], gpuc_select_f32x8(acc[2] < 0.0f, (f32x8){0}, acc[2]));
        gpuc_store_f32x8(&C[i * 32 + 24], gpuc_select_f32x8(acc[3] < 0.0f, (f32x8){0}, acc[3]));
    }
}

EXPORT int tile(const gpuc_cpu_env *env, void *const *tensors, const int64_t *scalars)
{
    const float *restrict A = tensors[0];
    const float *restrict B = tensors[1];
    float *restrict C = tensors[2];
    struct tile_args args = {A, B, C};
    env->parallel_for(env, 0, 8, tile_body, &args);
    return 0;
}
