#include <math.h>
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

struct odds_args {
    const float *A;
    int32_t *I;
    const uint8_t *P;
    float *C;
};

static void odds_body(void *arg, int64_t begin, int64_t end)
{
    const struct odds_args *args = arg;
    const float *restrict A = args->A;
    int32_t *restrict I = args->I;
    const uint8_t *restrict P = args->P;
    float *restrict C = args->C;
    for (int32_t i = (int32_t)begin; i < (int32_t)end; i++) {
        const float x = 3 <= i && (i < 60 || P[i] != 0) ? A[i - 3] : -1.0f;
        if (P[i] != 0)
            C[i] = x * 0.5f + expf(A[i]);
        else if (I[i] < 0)
            C[i] = x;
        else
            C[i] = 0.0f;
        I[i] = (int32_t)((uint32_t)I[i] * 3u - (uint32_t)I[63 - i]);
    }
}

EXPORT int odds(const gpuc_cpu_env *env, void *const *tensors, const int64_t *scalars)
{
    const float *restrict A = tensors[0];
    int32_t *restrict I = tensors[1];
    const uint8_t *restrict P = tensors[2];
    float *restrict C = tensors[3];
    struct odds_args args = {A, I, P, C};
    env->parallel_for(env, 0, 64, odds_body, &args);
    return 0;
}
