void gpuc_stream_f32x16(volatile __global float *a, float16 b)
{
#if defined(__has_builtin)
#if __has_builtin(__builtin_nontemporal_store)
    if ((size_t)a % sizeof(b) == 0) {
        __builtin_nontemporal_store(b, (__global float16 *)a);
        return;
    }
#endif
#endif
    vstore16(b, 0, (__global float *)a);
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void stream(__global const float *restrict A, int A_offset,
            __global float *restrict C, int C_offset)
{
    A += A_offset;
    C += C_offset;
    const int t = get_local_id(0);
    gpuc_stream_f32x16(C + t * 16, vload16(0, A + t * 16) * 2.0f);
}
