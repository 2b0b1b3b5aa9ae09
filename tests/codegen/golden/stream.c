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

typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16_any __attribute__((vector_size(64), aligned(4), may_alias));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x4 __attribute__((vector_size(16)));

static inline void gpuc_store_f32x16(float *a, f32x16 b)
{
    *(f32x16_any *)a = b;
}

static inline void gpuc_stream_f32x16(float *a, f32x16 b)
{
    if ((uintptr_t)a % sizeof b != 0) {
        gpuc_store_f32x16(a, b);
        return;
    }
#if defined(__clang__)
    typedef f32x16 cell __attribute__((may_alias));
    __builtin_nontemporal_store(b, (cell *)a);
#elif 16 * 32 == 512 && defined(__AVX512F__)
    __builtin_ia32_movntps512((float *)a, (f32x16)b);
#elif 16 * 32 == 256 && defined(__AVX__)
    __builtin_ia32_movntps256((float *)a, (f32x8)b);
#elif 16 * 32 == 128 && defined(__SSE__)
    __builtin_ia32_movntps((float *)a, (f32x4)b);
#else
    gpuc_store_f32x16(a, b);
#endif
}

static inline f32x16 gpuc_load_f32x16(const float *a)
{
    return *(const f32x16_any *)a;
}

static inline void gpuc_fence_u8()
{
#if defined(__SSE__)
    __builtin_ia32_sfence();
#endif
}

struct stream_args {
    const float *A;
    float *C;
};

static void stream_body(void *arg, int64_t begin, int64_t end)
{
    const struct stream_args *args = arg;
    const float *restrict A = args->A;
    float *restrict C = args->C;
    for (int32_t i = (int32_t)begin; i < (int32_t)end; i++) {
        gpuc_stream_f32x16(&C[i * 16], gpuc_load_f32x16(&A[i * 16]) * 2.0f);
    }
    gpuc_fence_u8();
}

EXPORT int stream(const gpuc_cpu_env *env, void *const *tensors, const int64_t *scalars)
{
    const float *restrict A = tensors[0];
    float *restrict C = tensors[1];
    struct stream_args args = {A, C};
    env->parallel_for(env, 0, 64, stream_body, &args);
    return 0;
}
